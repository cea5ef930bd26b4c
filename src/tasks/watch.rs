//! Looks after the runs of a process: begins what may begin, ends what somebody else wants ended, notices who is gone.

use super::{Hands, Inner, Place, run};
use crate::store::Begun;
use std::sync::Arc;
use std::time::Duration;

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
            // Until it runs it is in neither place, and whoever waits for it must not believe that it is over.
            state.beginning = next.as_ref().map(|(_, place)| place.clone());
            next
        };
        let Some((id, place)) = next else { return };
        let further = begin_one(inner, id, place);
        inner.state().beginning = None;
        inner.ended.notify_waiters();
        if !further {
            return;
        }
    }
}

/// Begins one run, if it may. Whether another may be tried.
fn begin_one(inner: &Arc<Inner>, id: String, place: Place) -> bool {
    match inner.store.begin_task(&id, inner.presence.id(), inner.config.running) {
        Ok(Begun::Yes(row)) => run::begin(inner, row),
        // Other processes run as many as may; the pulse tries again.
        Ok(Begun::Busy) => {
            inner.state().queue.put_back(place, id);
            return false;
        }
        // Cancelled by somebody else, who cannot reach whoever waits here.
        Ok(Begun::Gone) => gone(inner, &id),
        Err(error) => {
            tracing::warn!("task {id} cannot begin: {error}");
            inner.state().queue.put_back(place, id);
            return false;
        }
    }
    true
}

fn gone(inner: &Inner, id: &str) {
    if let Ok(Some(row)) = inner.store.task(id)
        && row.execution.ended()
        && row.owner.as_deref() == Some(inner.presence.id())
    {
        inner.over(&row, run::set_aside(&row));
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
