//! A Redis of any version.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The URL of a server that tells `info` to INFO, and knows no other command. It ends with the test.
pub(super) async fn server(info: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, info));
        }
    });
    url
}

async fn serve(stream: TcpStream, info: &str) {
    let mut stream = BufReader::new(stream);
    while let Some(command) = command(&mut stream).await {
        let answer = match command.first().map(String::as_str) {
            Some("INFO") => format!("${}\r\n{info}\r\n", info.len()),
            _ => "-ERR unknown command\r\n".to_owned(),
        };
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The words of one command: `*2`, then `$4`, `INFO` and so on, a line each.
async fn command(stream: &mut BufReader<TcpStream>) -> Option<Vec<String>> {
    let mut lines = stream.lines();
    let count: usize = lines.next_line().await.ok()??.strip_prefix('*')?.parse().ok()?;
    let mut words = Vec::new();
    for _ in 0..count {
        lines.next_line().await.ok()??;
        words.push(lines.next_line().await.ok()??);
    }
    Some(words)
}
