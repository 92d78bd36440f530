//! Queries answered inside your own HTTP server.
//!
//! Messages are bytes, so any transport can carry them. The server handles two requests, `GET
//! /bundle` and `POST /query`, and stops when the client closes its connection.
//!
//! `cargo run --release -p papir --example own_http_server`

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use papir::{Database, Options, client_of, system_rng};

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// Largest length of a body in bytes. Limit data from the network before allocating memory for it.
const MAX_BODY: u64 = 1 << 20;

fn main() -> Result<()> {
    let options = Options {
        scheme: "simple".to_owned(),
        ..Options::default()
    };
    let database = Database::build([("France", "Paris"), ("Peru", "Lima")], &options)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    let (server, _) = listener.accept()?;
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| serve(&database, BufReader::new(server)));
        // `look_up` owns the client's end of the connection, which closes when it returns.
        let capital = look_up(BufReader::new(client), "Peru")?;
        println!("Peru: {}", capital.as_deref().unwrap_or("not found"));
        serving.join().map_err(|_| "the server panicked")?
    })
}

/// Answers requests until the connection closes.
fn serve(database: &Database, mut stream: BufReader<TcpStream>) -> Result<()> {
    while let Some((request, body)) = read_message(&mut stream)? {
        let (status, body) = match request.as_str() {
            "GET /bundle HTTP/1.1" => ("200 OK", database.bundle()),
            // Malformed queries are errors, never panics.
            "POST /query HTTP/1.1" => match database.answer(&[body]) {
                Ok(answers) => ("200 OK", answers.concat()),
                Err(error) => ("400 Bad Request", error.to_string().into_bytes()),
            },
            _ => ("404 Not Found", Vec::new()),
        };
        write_message(&mut stream, &format!("HTTP/1.1 {status}"), &body)?;
    }
    Ok(())
}

/// Acts as the client: fetches the bundle, sends a query, and decrypts the answer.
fn look_up(mut stream: BufReader<TcpStream>, key: &str) -> Result<Option<String>> {
    let client = client_of(&exchange(&mut stream, "GET /bundle HTTP/1.1", &[])?)?;
    let pending = client.prepare_key(key.as_bytes(), &mut system_rng())?;
    let send = |query: &Vec<u8>| exchange(&mut stream, "POST /query HTTP/1.1", query);
    let answers = pending
        .queries()
        .iter()
        .map(send)
        .collect::<Result<Vec<_>>>()?;
    let value = pending.finish(&answers)?;
    Ok(value.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn exchange(stream: &mut BufReader<TcpStream>, request: &str, body: &[u8]) -> Result<Vec<u8>> {
    write_message(stream, &format!("{request}\r\nHost: localhost"), body)?;
    match read_message(stream)? {
        Some((status, body)) if status == "HTTP/1.1 200 OK" => Ok(body),
        other => Err(format!("{other:?}").into()),
    }
}

/// Reads the first line and the body of a message. Returns `None` at the end of the connection.
fn read_message(stream: &mut BufReader<TcpStream>) -> Result<Option<(String, Vec<u8>)>> {
    let lines = stream.by_ref().take(MAX_BODY).lines();
    let head = lines.take_while(|line| !matches!(line, Ok(line) if line.is_empty()));
    let head = head.collect::<Result<Vec<_>, _>>()?;
    let Some(first) = head.first() else {
        return Ok(None);
    };
    let length = head
        .iter()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    let length: u64 = length.unwrap_or("0").parse()?;
    let mut body = Vec::new();
    stream.take(length.min(MAX_BODY)).read_to_end(&mut body)?;
    Ok(Some((first.clone(), body)))
}

fn write_message(stream: &mut BufReader<TcpStream>, first: &str, body: &[u8]) -> Result<()> {
    write!(
        stream.get_mut(),
        "{first}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )?;
    Ok(stream.get_mut().write_all(body)?)
}

#[test]
fn it_runs() -> Result<()> {
    main()
}
