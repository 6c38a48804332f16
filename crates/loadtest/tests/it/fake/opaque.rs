//! The fake with access tokens that only it can read.

use serde_json::Value;

use super::{Data, Fake, claims};

impl Fake {
    /// From now on access tokens are handles.
    pub(crate) fn hide_tokens(&self) {
        self.data.lock().unwrap().opaque = true;
    }

    /// A handle for a token.
    pub(crate) fn hide(&self, token: &str) -> String {
        let handle = self.id("at_");
        self.data.lock().unwrap().handles.insert(handle.clone(), token.to_owned());
        handle
    }

    /// What a handle stands for; any other token stands for itself.
    pub(super) fn told(&self, token: &str) -> String {
        let Data { handles, .. } = &*self.data.lock().unwrap();
        handles.get(token).map_or(token, String::as_str).to_owned()
    }

    /// What remains of a token answer when its access token says nothing.
    pub(super) fn hide_answer(&self, answer: &mut Value) {
        if !self.data.lock().unwrap().opaque {
            return;
        }
        let token = answer["access_token"].as_str().unwrap().to_owned();
        answer["scope"] = claims(&token)["scope"].clone();
        answer["access_token"] = self.hide(&token).into();
    }

    /// What remains of an introspection.
    pub(super) fn hide_introspection(&self, answer: &mut Value) {
        if self.data.lock().unwrap().opaque {
            answer.as_object_mut().unwrap().remove("aud");
        }
    }
}
