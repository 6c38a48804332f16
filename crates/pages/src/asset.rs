//! The files that pages load, under paths that carry a fingerprint of their content.

use std::io::Write;
use std::sync::{LazyLock, OnceLock};

use flate2::Compression;
use flate2::write::GzEncoder;

/// A static file that pages load. Its path changes whenever its content does, so it may be served with
/// `Cache-Control: public, max-age=31536000, immutable`.
#[derive(Debug, Clone)]
pub struct Asset {
    /// The absolute path that pages ask for, such as `/assets/style.<fingerprint>.css`.
    pub path: String,
    /// The value of the `Content-Type` header.
    pub content_type: &'static str,
    /// The file's content.
    pub body: String,
    /// The value of the `ETag` header, quotes included (RFC 9110 section 8.8.3).
    pub etag: String,
    /// The value of the `ETag` header where the content is compressed: it differs, because the bytes do (RFC 9110 section
    /// 8.8.3.3).
    pub compressed_etag: String,
    compressed: OnceLock<Vec<u8>>,
}

impl Asset {
    fn new(stem: &str, extension: &str, content_type: &'static str, body: String) -> Self {
        let fingerprint = fingerprint(body.as_bytes());
        Self {
            path: format!("/assets/{stem}.{fingerprint:016x}.{extension}"),
            content_type,
            etag: format!("\"{fingerprint:016x}\""),
            compressed_etag: format!("\"{fingerprint:016x}-gzip\""),
            body,
            compressed: OnceLock::new(),
        }
    }

    /// The content as gzip (RFC 1952), made once; none where that is no shorter.
    pub fn compressed(&self) -> Option<&[u8]> {
        let compressed = self.compressed.get_or_init(|| gzip(self.body.as_bytes()).unwrap_or_default());
        let is_shorter = !compressed.is_empty() && compressed.len() < self.body.len();
        is_shorter.then_some(compressed)
    }

    fn script(stem: &str, body: String) -> Self {
        Self::new(stem, "js", "text/javascript; charset=utf-8", body)
    }
}

fn gzip(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body)?;
    encoder.finish()
}

/// 64-bit FNV-1a. It only tells versions of our own files apart, so it need not withstand an attacker.
fn fingerprint(body: &[u8]) -> u64 {
    body.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// The files, or their paths, by name, for templates.
pub(crate) struct Files {
    pub(crate) style: Asset,
    pub(crate) mark: String,
    pub(crate) form_post: String,
    pub(crate) submit_once: String,
    pub(crate) passkey: String,
    pub(crate) puzzle: String,
    pub(crate) walkthrough: String,
    pub(crate) silent_callback: String,
    pub(crate) account_passkeys: String,
    pub(crate) add_passkey: String,
    pub(crate) check_session: String,
    pub(crate) signed_out: String,
    all: Vec<Asset>,
}

static FILES: LazyLock<Files> = LazyLock::new(|| {
    let style =
        Asset::new("style", "css", "text/css; charset=utf-8", include_str!("../assets/style.css").into());
    let mark = Asset::new("mark", "svg", "image/svg+xml", include_str!("../assets/mark.svg").into());
    let form_post = Asset::script("form-post", include_str!("../assets/form-post.js").into());
    let submit_once = Asset::script("submit-once", include_str!("../assets/submit-once.js").into());
    let passkey = Asset::script("passkey", include_str!("../assets/passkey.js").into());
    let puzzle = Asset::script("puzzle", include_str!("../assets/puzzle.js").into());
    let silent_callback =
        Asset::script("silent-callback", include_str!("../assets/silent-callback.js").into());
    let account_passkeys =
        Asset::script("account-passkeys", include_str!("../assets/account-passkeys.js").into());
    let add_passkey = Asset::script("add-passkey", include_str!("../assets/add-passkey.js").into());
    let check_session = Asset::script("check-session", include_str!("../assets/check-session.js").into());
    let signed_out = Asset::script("signed-out", include_str!("../assets/signed-out.js").into());
    // A module names the modules that it imports by their fingerprinted paths, so its own fingerprint covers them.
    let oidc = Asset::script("oidc", include_str!("../assets/oidc.js").into());
    let walkthrough = Asset::script(
        "walkthrough",
        include_str!("../assets/walkthrough.js")
            .replace("\"./oidc.js\"", &format!("\".{}\"", oidc.path.trim_start_matches("/assets"))),
    );
    Files {
        style: style.clone(),
        mark: mark.path.clone(),
        form_post: form_post.path.clone(),
        submit_once: submit_once.path.clone(),
        passkey: passkey.path.clone(),
        puzzle: puzzle.path.clone(),
        walkthrough: walkthrough.path.clone(),
        silent_callback: silent_callback.path.clone(),
        account_passkeys: account_passkeys.path.clone(),
        add_passkey: add_passkey.path.clone(),
        check_session: check_session.path.clone(),
        signed_out: signed_out.path.clone(),
        all: vec![
            style,
            mark,
            form_post,
            submit_once,
            passkey,
            puzzle,
            silent_callback,
            account_passkeys,
            add_passkey,
            check_session,
            signed_out,
            oidc,
            walkthrough,
        ],
    }
});

pub(crate) fn files() -> &'static Files {
    &FILES
}

/// Puts a prefix in front of the paths of a page's files. Quotation marks in texts are escaped, so `"/assets/` occurs
/// only in attributes of the templates.
pub(crate) fn below(prefix: &str, page: String) -> String {
    if prefix.is_empty() { page } else { page.replace("\"/assets/", &format!("\"{prefix}/assets/")) }
}

/// Every file that pages load. Serve each at its path.
pub fn assets() -> &'static [Asset] {
    &FILES.all
}

/// The style sheet of all pages, for pages that are made elsewhere.
pub fn stylesheet() -> &'static Asset {
    &FILES.style
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn what_is_compressed_is_the_file() {
        let mut shorter = 0;
        for asset in assets() {
            let Some(compressed) = asset.compressed() else { continue };
            let mut body = String::new();
            GzDecoder::new(compressed).read_to_string(&mut body).unwrap();
            assert_eq!(body, asset.body, "{}", asset.path);
            shorter += 1;
        }
        assert!(shorter > 5, "{shorter}");
    }
}
