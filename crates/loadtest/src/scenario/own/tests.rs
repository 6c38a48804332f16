//! Files that are read, and the mistakes in them.

use std::path::Path;

use super::document::Document;
use super::{compile, program};

fn compiled(text: &str) -> Result<program::Program, String> {
    let document: Document = toml::from_str(text).map_err(|error| error.to_string())?;
    compile::compile(document, Path::new("/nowhere"))
}

/// A file with one scenario of one request, which has these lines.
fn request(lines: &str) -> String {
    format!("[[scenario]]\nname = \"s\"\n[[scenario.request]]\n{lines}\n")
}

#[test]
fn names_are_counted_by() {
    let one = compiled(&request("url = \"/\"\ncheck = [{ json = \"/a\", exists = true }]")).unwrap();
    let step = &one.scripts[0].steps[0];
    assert_eq!((one.scripts[0].kind, step.kind, step.status_kind), ("", "request 1", "request 1: status"));
    assert_eq!(step.checks[0].kind, "request 1: json /a");
    let two = request("url = \"/\"\nname = \"page\"\ntake.x = { header = \"x\" }")
        + "[[scenario]]\nname = \"t\"\ncount = \"each\"\n[[scenario.request]]\nurl = \"/\"\n";
    let two = compiled(&two).unwrap();
    assert_eq!((two.scripts[0].kind, two.scripts[1].kind), ("s", "t"));
    assert_eq!(two.scripts[0].steps[0].takes[0].kind, "s: page: take x");
    assert!(two.scripts[1].each && !two.scripts[0].each);
}

#[test]
fn what_is_taken_is_known_to_later_requests_of_the_same_scenario() {
    let take = "url = \"/\"\ntake.code = { query = \"code\" }\ntake.login = { form = {} }\n";
    let use_it = "[[scenario.request]]\nurl = \"{{login.action}}?{{code}}={{login.csrf}}\"\n";
    compiled(&(request(take) + use_it)).unwrap_or_else(|told| panic!("{told}"));
    let before = request("url = \"/{{code}}\"\ntake.code = { query = \"code\" }");
    let told = compiled(&before).err().unwrap();
    assert!(
        told.contains("scenario 1 (s): request 1: url: {{code}} is not known here; there are state"),
        "{told}"
    );
    let other = request(take) + "[[scenario]]\nname = \"t\"\n" + use_it;
    assert!(compiled(&other).err().unwrap().contains("scenario 2 (t): request 1: url: {{login.action}}"));
}

#[test]
fn every_mistake_names_its_place_and_its_mend() {
    for (text, why) in [
        (String::new(), "missing field `scenario`"),
        ("scenario = []".into(), "it has no [[scenario]]"),
        (request("url = \"/\"\nspeed = 3"), "unknown field `speed`"),
        (request(""), "request 1: give one of url and submit"),
        (request("url = \"/\"\nsubmit = \"x\""), "give one of url and submit"),
        (request("submit = \"login\""), "take.login = { form = {} }"),
        (request("url = \"{{x\""), "url: `{{` in \"{{x\" is not closed"),
        (request("url = \"/\"\nmethod = \"FETCH\""), "method = \"FETCH\": there are GET"),
        (request("url = \"/\"\nmethod = \"GET\"\nbody = \"x\""), "put values into query"),
        (request("url = \"/\"\nform = {}\njson = 3"), "give one of form, json and body"),
        (
            request("url = \"/\"\nquery.a = { b = 1 }"),
            "query.a: a text or a number is needed, and it is a table",
        ),
        (request("url = \"/\"\nheaders.Host = \"x\""), "headers.Host: the load generator sends it itself"),
        (request("url = \"/\"\nheaders.\"a b\" = \"x\""), "headers.a b: it is no name"),
        (request("url = \"/\"\nstatus = [99]"), "status: 99 is none"),
        (request("url = \"/\"\nbasic = [\"a\"]"), "line 5"),
        (request("url = \"/\"\nbasic = [\"a\", \"b\"]\nbearer = \"c\""), "give one of basic and bearer"),
        (request("url = \"/\"\ntake.x = {}"), "take.x: give one of json, header"),
        (request("url = \"/\"\ntake.x = { json = \"a\" }"), "as \"/a\""),
        (request("url = \"/\"\ntake.x = { regex = \"(\" }"), "take.x: regex: "),
        (request("url = \"/\"\ntake.state = { header = \"x\" }"), "choose another one"),
        (request("url = \"/\"\ntake.\"a.b\" = { header = \"x\" }"), "letters, digits"),
        (request("url = \"/\"\ncheck = [{ exists = true }]"), "check 1: give one of header, json"),
        (request("url = \"/\"\ncheck = [{ json = \"/a\" }]"), "give one of equals, contains, exists"),
        (request("url = \"/\"\ncheck = [{ json = \"/a\", type = \"text\" }]"), "there are string, number"),
        (request("url = \"/\"\ncheck = [{ header = \"a\", type = \"string\" }]"), "type goes with json"),
        (request("url = \"/\"\ncheck = [{ redirect = \"a\", exists = true }]"), "leave the rest out"),
        ("[constants]\na = []\n".to_owned() + &request("url = \"/\""), "constants.a: a text or a number"),
        ("[constants]\nnow = 1\n".to_owned() + &request("url = \"/\""), "constants.now: the name stands for"),
        (
            "[constants]\na = { env = \"SYMBOLON_TEST_NO_SUCH\" }\n".to_owned() + &request("url = \"/\""),
            "constants.a: the environment has no SYMBOLON_TEST_NO_SUCH: set it, or give a default",
        ),
        (
            "[data.u]\nfile = \"u.csv\"\n".to_owned() + &request("url = \"/\""),
            "data.u: /nowhere/u.csv: it cannot be read",
        ),
        (
            request("url = \"/\"").replace("name = \"s\"", "name = \"s\"\nweight = 0"),
            "weight = 0: it must be from 1",
        ),
        (request("url = \"/\"").replace("name = \"s\"", "name = \"s\"\ncount = \"all\""), "`whole`"),
        (request("url = \"/\"") + &request("url = \"/\""), "scenario 2 (s): another one has the same name"),
    ] {
        let told = compiled(&text).err().unwrap_or_else(|| panic!("taken: {text}"));
        assert!(told.contains(why), "{text}: {told}");
    }
}

#[test]
fn a_default_stands_in_for_the_environment() {
    let text = "[constants]\na = { env = \"SYMBOLON_TEST_NO_SUCH\", default = 7 }\n".to_owned()
        + &request("url = \"/{{a}}\"");
    assert!(compiled(&text).is_ok());
}
