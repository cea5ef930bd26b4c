//! A model service on this machine that says, byte for byte, what a test wrote down, and keeps what it was asked.

use serde_json::Value;
use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What the service does about one request.
#[derive(Debug, Clone)]
pub struct Says {
    head: String,
    body: Vec<Piece>,
    /// Bodies in chunks show where they end; others end with the connection.
    chunked: bool,
}

#[derive(Debug, Clone)]
enum Piece {
    Bytes(Vec<u8>),
    /// Says nothing more until the other side goes.
    Silence,
    /// Says this until the other side goes.
    Endless(Vec<u8>),
    /// Drops the connection where it stands.
    Cut,
}

impl Says {
    /// A stream of events, as its bytes.
    pub fn stream(bytes: impl AsRef<[u8]>) -> Self {
        Self {
            head: "200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: req-1".to_owned(),
            body: vec![Piece::Bytes(bytes.as_ref().to_vec())],
            chunked: true,
        }
    }

    /// A stream of data events.
    pub fn events(events: &[&str]) -> Self {
        Self::stream(events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>())
    }

    /// A whole body under a status.
    pub fn json(status: u16, body: &str) -> Self {
        Self {
            head: format!("{status} Said\r\ncontent-type: application/json\r\nx-request-id: req-1"),
            body: vec![Piece::Bytes(body.as_bytes().to_vec())],
            chunked: true,
        }
    }

    /// One more header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("\r\n{name}: {value}"));
        self
    }

    /// The same bytes, each in a chunk of its own.
    pub fn byte_by_byte(mut self) -> Self {
        let whole: Vec<u8> = self
            .body
            .iter()
            .flat_map(|piece| match piece {
                Piece::Bytes(bytes) => bytes.clone(),
                _ => Vec::new(),
            })
            .collect();
        self.body = whole.into_iter().map(|byte| Piece::Bytes(vec![byte])).collect();
        self
    }

    /// Ends with the connection instead of a last chunk.
    pub fn until_close(mut self) -> Self {
        self.chunked = false;
        self
    }

    /// Then says nothing more.
    pub fn then_silence(mut self) -> Self {
        self.body.push(Piece::Silence);
        self
    }

    /// Then says this for ever.
    pub fn then_endless(mut self, bytes: &str) -> Self {
        self.body.push(Piece::Endless(bytes.as_bytes().to_vec()));
        self
    }

    /// Then drops the connection.
    pub fn then_cut(mut self) -> Self {
        self.body.push(Piece::Cut);
        self
    }
}

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Method and path.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The service. Requests beyond what it was told to say are answered with 418.
#[derive(Debug)]
pub struct Model {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    gone: Receiver<()>,
}

impl Model {
    pub fn start(says: impl IntoIterator<Item = Says>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let says = Arc::new(Mutex::new(says.into_iter().collect::<VecDeque<_>>()));
        let seen = Arc::clone(&asked);
        let (tell, gone) = channel();
        // It ends with the process; a connection that the client leaves ends with the client.
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, says, tell) = (Arc::clone(&seen), Arc::clone(&says), tell.clone());
                thread::spawn(move || drop(serve(&stream, &seen, &says, &tell)));
            }
        });
        Self { port, asked, gone }
    }

    /// Its address, without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns once the client has left a connection in silence.
    #[track_caller]
    pub fn wait_until_left(&self) {
        self.gone.recv_timeout(Duration::from_secs(60)).unwrap();
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// A port of this machine at which nobody listens.
pub fn nobody() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port())
}

fn serve(
    stream: &TcpStream,
    seen: &Mutex<Vec<Asked>>,
    says: &Mutex<VecDeque<Says>>,
    tell: &Sender<()>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let Some(asked) = request(&mut reader)? else { return Ok(()) };
    seen.lock().unwrap().push(asked);
    let next = says.lock().unwrap().pop_front();
    let says = next.unwrap_or_else(|| Says::json(418, r#"{"error":"nothing more was to be asked"}"#));
    let mut out = stream;
    let framing = if says.chunked { "transfer-encoding: chunked\r\n" } else { "" };
    write!(out, "HTTP/1.1 {}\r\n{framing}connection: close\r\n\r\n", says.head)?;
    for piece in &says.body {
        match piece {
            Piece::Bytes(bytes) => send(out, bytes, says.chunked)?,
            Piece::Silence => {
                // Returns when the client closes its side.
                let _ = reader.read(&mut [0]);
                let _ = tell.send(());
                return Ok(());
            }
            Piece::Endless(bytes) => loop {
                send(out, bytes, says.chunked)?;
            },
            Piece::Cut => return stream.shutdown(std::net::Shutdown::Both),
        }
    }
    if says.chunked {
        out.write_all(b"0\r\n\r\n")?;
    }
    out.flush()
}

fn send(mut out: &TcpStream, bytes: &[u8], chunked: bool) -> std::io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    if !chunked {
        return out.write_all(bytes);
    }
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    out.write_all(&chunk)
}

fn request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Asked>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let headers: Vec<(String, String)> = lines
        .iter()
        .skip(1)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").map_or("0", |(_, value)| value);
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let line = lines[0].trim_end_matches(" HTTP/1.1").to_owned();
    Ok(Some(Asked { line, headers, body }))
}
