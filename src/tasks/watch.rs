//! Looks after the runs of a process: begins what may begin, ends what somebody else wants ended, notices who is gone.

use super::{Hands, Inner, Place, Running, run};
use crate::store::Begun;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch as signal;

/// How often other processes are looked at while there is something to do.
const PULSE: Duration = Duration::from_millis(500);

/// Goes on until the process leaves.
pub(super) fn start(inner: &Arc<Inner>) {
    let inner = Arc::clone(inner);
    tokio::spawn(async move {
        while !inner.state().closed || !inner.state().running.is_empty() {
            begin(&inner);
            end(&inner);
            if wait(&inner).await && inner.state().queue.len() > 0 {
                // Something waits although there may be room: others run much, or are gone. The gone make room.
                inner.bury_the_gone();
            }
        }
    });
}

/// Waits until there may be something to do. `true` when time passed instead, and there was something to wait for.
async fn wait(inner: &Inner) -> bool {
    let busy = {
        let state = inner.state();
        !state.running.is_empty() || state.queue.len() > 0
    };
    if !busy {
        inner.kick.notified().await;
        return false;
    }
    tokio::select! {
        () = inner.kick.notified() => false,
        () = tokio::time::sleep(PULSE) => true,
    }
}

/// Begins as many as may run.
fn begin(inner: &Arc<Inner>) {
    if inner.hands == Hands::Others {
        return;
    }
    loop {
        let next = {
            let mut state = inner.state();
            if state.closed || state.running.len() as u64 >= inner.config.running {
                return;
            }
            let (most, state) = (inner.config.running_per_session, &mut *state);
            let next = state.queue.pop(|place| state.running_of.get(place).copied().unwrap_or(0) < most);
            // It counts as running from here on: in between nobody could end it, or would wait for it.
            next.map(|(id, place)| {
                let (stop, stopped) = signal::channel(None);
                state.started(id.clone(), Running { place: place.clone(), stop });
                (id, place, stopped)
            })
        };
        let Some((id, place, stopped)) = next else { return };
        match inner.store.begin_task(&id, inner.presence.id(), inner.config.running) {
            Ok(Begun::Yes(row)) => run::begin(inner, row, stopped),
            // Other processes run as many as may; the pulse tries again.
            Ok(Begun::Busy) => return not_yet(inner, (id, place), &stopped),
            // Cancelled by somebody else, who cannot reach whoever waits here.
            Ok(Begun::Gone) => gone(inner, &id),
            Err(error) => {
                tracing::warn!("task {id} cannot begin: {error}");
                return not_yet(inner, (id, place), &stopped);
            }
        }
    }
}

/// Lets a run wait on that could not begin, unless somebody has wanted it to end meanwhile.
fn not_yet(inner: &Inner, (id, place): (String, Place), stopped: &signal::Receiver<Option<String>>) {
    let wanted = {
        let mut state = inner.state();
        let wanted = stopped.borrow().clone();
        if wanted.is_none() {
            state.stopped(&id);
            state.queue.put_back(place.clone(), id.clone());
        }
        wanted
    };
    if let Some(reason) = wanted {
        inner.cancel_waiting(&id, &place, &reason);
        inner.forget(&id);
    }
}

fn gone(inner: &Inner, id: &str) {
    if let Ok(Some(row)) = inner.store.task(id)
        && row.execution.ended()
        && row.owner.as_deref() == Some(inner.presence.id())
    {
        inner.over(&row, run::set_aside(&row));
    } else {
        inner.forget(id);
    }
}

/// Ends what somebody in another process wants ended.
fn end(inner: &Inner) {
    if inner.state().running.is_empty() {
        return;
    }
    let wanted = match inner.store.cancels(inner.presence.id()) {
        Ok(wanted) => wanted,
        Err(error) => return tracing::warn!("who wants tasks cancelled cannot be read: {error}"),
    };
    for id in wanted {
        let reason = inner.store.task(&id).ok().flatten().and_then(|row| row.cancel);
        if let Some(running) = inner.state().running.get(&id) {
            running.stop.send_replace(Some(reason.unwrap_or_else(|| "somebody ended it".to_owned())));
        }
    }
}
