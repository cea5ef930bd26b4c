//! Fetches a page of this machine.

use hostile::{answer, tool};
use serde::{Deserialize, Serialize};
use wasip2::http::{
    outgoing_handler,
    types::{Fields, OutgoingRequest, Scheme},
};

#[derive(Deserialize)]
struct Target {
    port: u16,
    #[serde(default)]
    path: String,
}

#[derive(Serialize)]
struct Fetched {
    outcome: String,
    status: Option<u16>,
}

tool!(Fetch, "grab_http", "Fetches a page of this machine.", Target, |target| answer(
    &match fetch(&target) {
        Ok(status) => Fetched { outcome: "ok".to_owned(), status: Some(status) },
        Err(outcome) => Fetched { outcome, status: None },
    }
));

fn fetch(target: &Target) -> Result<u16, String> {
    let request = OutgoingRequest::new(Fields::new());
    let refused = |()| "the host takes no such request".to_owned();
    request.set_scheme(Some(&Scheme::Http)).map_err(refused)?;
    request.set_authority(Some(&format!("127.0.0.1:{}", target.port))).map_err(refused)?;
    request.set_path_with_query(Some(&format!("/{}", target.path))).map_err(refused)?;
    let response = outgoing_handler::handle(request, None).map_err(|code| format!("{code:?}"))?;
    response.subscribe().block();
    match response.get() {
        Some(Ok(Ok(response))) => Ok(response.status()),
        Some(Ok(Err(code))) => Err(format!("{code:?}")),
        Some(Err(())) | None => Err("no response".to_owned()),
    }
}

ringfence_tool::export_tool!(Fetch);
