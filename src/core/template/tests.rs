use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;

use super::*;

fn entries<const N: usize>(entries: [(&str, Value); N]) -> BTreeMap<Arc<str>, Value> {
    entries.map(|(key, value)| (key.into(), value)).into_iter().collect()
}

/// What templates of namespaces see.
fn data() -> Value {
    let labels = Value::texts(entries([("app", Value::text("web")), ("tier", Value::text(""))]));
    let secret = Value::map(entries([
        (".dockerconfigjson", Value::text("{\"auths\":{}}")),
        ("password", Value::text("hunter2")),
        ("blob", Value::bytes(&[0xff, 0xfe, 0])),
    ]));
    let namespace = Value::fields(entries([("Name", Value::text("team-a")), ("Labels", labels)]));
    let list = Value::list(vec![Value::text("b"), Value::Int64(1), Value::Nil]);
    let object =
        Value::map(entries([("metadata", Value::map(entries([("name", Value::text("cm"))]))), ("items", list)]));
    Value::fields(entries([("Namespace", namespace), ("Data", Value::map(entries([("s", secret), ("o", object)])))]))
}

/// What comes of a template: its text, or `refused: ` and why.
fn outcome(template: &str) -> String {
    match Template::parse(template).and_then(|template| template.render(&data())) {
        Ok(text) => text,
        Err(refused) => format!("refused: {} ({})", refused.message, refused.help),
    }
}

#[track_caller]
fn check(template: &str, expect: &str) {
    assert_eq!(outcome(template), expect, "{template}");
}

#[track_caller]
fn refused(template: &str, why: &str) {
    let outcome = outcome(template);
    assert!(outcome.starts_with("refused: ") && outcome.contains(why), "{template}: {outcome}");
}

/// What the public ManagedResources use.
#[test]
fn published_templates_render() {
    check("name: {{ .Namespace.Name }}-quota", "name: team-a-quota");
    check("{{ index .Data.s \".dockerconfigjson\" | base64Encode }}", "eyJhdXRocyI6e319");
    check("{{ .Data.o.metadata.name }}", "cm");
    check("{{ .Namespace.Labels.app }}/{{ index .Namespace.Labels \"app\" | quote }}", "web/\"web\"");
}

/// Of an object of which not all is read, nothing looks as if it were not there.
#[test]
fn what_is_not_read_of_an_object_is_an_error_and_not_empty() {
    let labels = Value::part_of_map(entries([("app.kubernetes.io/name", Value::text("web"))]));
    let metadata = Value::part_of_map(entries([("name", Value::text("cm")), ("labels", labels)]));
    let data = Value::map(entries([("k", Value::text("v"))]));
    let object = Value::part_of_map(entries([("metadata", metadata), ("data", data)]));
    let root = Value::map(entries([("o", object)]));
    let outcome = |template: &str| match Template::parse(template).and_then(|template| template.render(&root)) {
        Ok(text) => text,
        Err(refused) => format!("refused: {}", refused.message),
    };
    assert_eq!(outcome("{{ .o.metadata.name }}{{ index .o.metadata.labels \"app.kubernetes.io/name\" }}"), "cmweb");
    assert_eq!(outcome("{{ with .o.metadata }}{{ .name }}{{ end }}{{ index .o \"metadata\" \"name\" }}"), "cmcm");
    assert_eq!(outcome("{{ get .o.data \"k\" }}{{ range $k, $v := .o.data }}{{ $k }}{{ end }}"), "vk");
    for template in [
        "{{ .o.metadata.annotations }}",
        "{{ with .o.metadata.annotations }}{{ end }}",
        "{{ index .o.metadata.labels \"team\" }}",
        "{{ index .o \"status\" }}",
    ] {
        let said = outcome(template);
        assert!(said.starts_with("refused: ") && said.contains("does not read this field"), "{template}: {said}");
    }
    for template in [
        "{{ hasKey .o.metadata \"annotations\" }}",
        "{{ get .o.metadata \"annotations\" }}",
        "{{ dig \"annotations\" .o.metadata }}",
        "{{ dig \"o\" \"metadata\" \"annotations\" . }}",
        "{{ len .o.metadata }}",
        "{{ .o.metadata }}",
        "{{ keys .o }}",
        "{{ range .o.metadata }}{{ end }}",
        "{{ toJSON . }}",
        "{{ . }}",
        "{{ default \"a\" .o.metadata }}",
        "{{ deepEqual . . }}",
    ] {
        let said = outcome(template);
        assert!(said.starts_with("refused: ") && said.contains("does not read as a whole"), "{template}: {said}");
    }
}

#[test]
fn go_is_followed() {
    check(
        "{{- /* x */ -}} a {{- if eq 1 2 -}} b {{- else if .Data -}} c {{- end }}",
        "a c".replace(" c", "c").as_str(),
    );
    check("{{range $i, $e := .Data.o.items}}{{$i}}={{printf \"%v\" $e}};{{end}}", "0=b;1=1;2=<nil>;");
    check("{{range 3}}{{.}}{{if eq . 1}}{{break}}{{end}},{{else}}none{{end}}", "0,1");
    check("{{with $x := .Namespace.Name}}{{$x}}{{.}}{{end}}", "team-ateam-a");
    check("{{define \"t\"}}[{{.}}]{{end}}{{template \"t\" 1}}{{block \"u\" 2}}({{.}}){{end}}", "[1](2)");
    check("{{.Data.o}}", "map[items:[b 1 <nil>] metadata:map[name:cm]]");
    check("{{printf \"%05.1f|%-4s|%q|%x\" 1.25 \"a\" \"\\n\" 255}}", "001.2|a   |\"\\n\"|ff");
    check("{{list 1 \"a\" nil | toJSON}}{{rest (list) | toJSON}}", "[1,\"a\",null]null");
    check("{{1000000.0}} {{1e21 | toJSON}} {{div 7 2}} {{divf 7 2}}", "1e+06 1e+21 3 3.5");
    check("{{regexReplaceAll \"(?P<x>[a-z])(\\\\d)\" \"a1 b2\" \"${2}$x\"}}", "1a 2b");
    check("{{\"a,b\" | splitList \",\" | join \"-\"}}{{dict \"k\" 1}}", "a-bmap[k:1]");
}

/// What Go tells apart although it looks alike.
#[test]
fn lists_and_numbers_are_told_apart_as_go_does() {
    check("{{strSlice (regexFindAll \"z\" \"a\" 1) | toJSON}}{{strSlice (list) | toJSON}}", "nullnull");
    check("{{strSlice (splitList \",\" \"b,a\") | sortAlpha}}", "[a b]");
    refused("{{$x := splitList \",\" \"b,a\"}}{{strSlice $x | sortAlpha}}", "used elsewhere");
    // Of lists that hold NaN, Go finds those equal that are the same in memory.
    refused("{{$x := list (divf 0 0)}}{{deepEqual $x $x}}", "NaN");
    refused("{{$x := dict \"a\" (divf 0 0)}}{{has $x (list $x)}}", "NaN");
    check("{{deepEqual (list 1 (divf 0 0)) (list 2 (divf 0 0))}}", "false");
    // Sprout wraps its old names, and constants do not take the type that the function asks for.
    check("{{chunk 2.0 (list 1 2 3)}}{{mustChunk 2 (list 1 2 3)}}", "[[1 2] [3]][[1 2] [3]]");
    refused("{{mustChunk 2.0 (list 1 2 3)}}", "takes an int here");
    refused("{{mustRegexFindAll \"a\" \"aaa\" 2.0}}", "takes an int here");
}

/// Go's order is another one each time, so only what does not depend on it can be compared.
#[test]
fn keys_and_values_come_in_order() {
    check("{{$m := dict \"b\" 1 \"c\" 2 \"a\" 3}}{{keys $m}}{{values $m}}", "[a b c][3 1 2]");
}

#[test]
fn whatever_is_missing_is_an_error() {
    refused("{{.Namespace.Labels.nope}}", "line 1: there is no `nope`");
    refused("\n{{index .Data.s \"nope\"}}", "line 2: `index` fails: a map has no such key");
    refused("{{.Data.o.metadata.name.x}}", "has no fields");
    refused("{{.Data.nope.x}}", "there is no `nope`");
    refused("{{first (list)}}", "no value to print");
}

#[test]
fn what_cannot_run_is_refused_before_data_is_there() {
    for (template, why) in [
        ("{{now}}", "reads the clock"),
        ("{{randAlpha 3}}", "differs from run to run"),
        ("{{env \"HOME\"}}", "reads the environment"),
        ("{{osBase \"x\"}}", "reads the environment"),
        ("{{set \"a\" 1 .Data.o}}", "changes a map in place"),
        ("{{toYaml .}}", "cannot be matched byte for byte"),
        ("{{base64Encod \"x\"}}", "Did you mean base64Encode?"),
        ("{{\"x\" | b64enc}}", "Use `base64Encode`"),
        ("{{trim}}", "`trim` takes 1 arguments and is given 0"),
        ("{{\"x\" | trim \"y\"}}", "is given 2"),
        ("{{$x}}", "there is no variable `$x`"),
        ("{{if true}}{{$x := 1}}{{end}}{{$x}}", "there is no variable `$x`"),
        ("{{template \"t\"}}", "there is no template `t`"),
        ("{{if false}}{{regexMatch \"[\" .x}}{{end}}", "`regexMatch` fails: a regular expression is none"),
        ("{{define \"t\"}}{{\"x\" | mustRegexFind \"a**\"}}{{end}}", "a regular expression is none"),
        ("{{fail \"x\"}}", "sprig's and not of sprout's"),
        ("{{sha1Sum \"x\"}}", "its hash is broken"),
        ("{{break}}", "outside of a range"),
        ("{{.Namespace.Name | .Namespace.Name}}", "no function is given arguments"),
        ("{{if true}}", "an {{end}} is missing"),
        ("a{{end}}b", "ends nothing"),
        ("{{\"x\n\"}}", "not closed in its line"),
        ("{{1_000}}", "a number is none"),
        ("{{print(1)}}", "a space is missing"),
        ("{{/* a */ }}", "a comment does not end"),
        ("{{define \"a\"}}x{{end}}{{define \"a\"}}y{{end}}", "defined already"),
    ] {
        let refused = Template::parse(template).map(|_| ()).unwrap_err();
        let said = format!("{} {}", refused.message, refused.help);
        assert!(said.contains(why), "{template}: {said}");
    }
}

#[test]
fn bytes_that_are_no_text_are_encoded_and_nothing_else() {
    check("{{.Data.s.blob | base64Encode}}", "//4A");
    check("{{index .Data.s \"blob\" | base64Encode | base64Decode | base64Encode}}", "//4A");
    for template in [
        "{{.Data.s.blob}}",
        "{{.Data.s}}",
        "{{print .Data.s.blob}}",
        "{{toJSON .Data.s}}",
        "{{len .Data.s.blob}}",
        "{{eq .Data.s.blob 1}}",
        "{{get .Data.s \"blob\"}}",
        "{{pick .Data.s \"blob\" | toJSON}}",
        "{{values .Data.s}}",
        "{{values .Data.s | has \"x\"}}",
        "{{pluck \"blob\" .Data.s | join \",\"}}",
        "{{dig \"blob\" .Data.s | len}}",
    ] {
        refused(template, "bytes that are no text");
    }
}

#[test]
fn objects_with_fields_are_not_used_as_a_whole() {
    for template in
        ["{{.}}", "{{.Namespace}}", "{{toJSON .Namespace}}", "{{range .Namespace}}{{end}}", "{{index . \"Data\"}}"]
    {
        refused(template, "only its fields can be");
    }
}

#[test]
fn regular_expressions_are_read_as_go_reads_them() {
    // A `-` behind a class is a letter, and no range.
    check(r#"{{regexReplaceAll "[\\s-_]+" "A b-C_9 d" "."}}"#, "A.b.C.9.d");
    check(r#"{{regexFindAll "[\\w-z]" "`-z" -1}}{{regexFindAll "[\\.\\w-z]" "`-." -1}}"#, "[- z][- .]");
    check(r#"{{regexFindAll "[[:digit:]-a]" "1-:" -1}}{{regexFindAll "[+--]" "+,-." -1}}"#, "[1 -][+ , -]");
    // Behind the `-` of a range, no class may stand.
    for expression in [r"[+-\\w]", r"[!-\\d]", r"[ -\\w]", r"[z-a]"] {
        refused(&format!("{{{{regexMatch \"{expression}\" \"5\"}}}}"), "is none for Go");
    }
    // What Go takes as letters, and groups of what never stands there.
    for expression in ["a{01}", "a{1,02}", "a{,2}", "|(a){0}b", "(?P<x>a){0,0}b", "[[:foo:]]", "[[:al^pha:]]"] {
        refused(&format!("{{{{regexFindGroups \"{expression}\" \"a\"}}}}"), "is none for Go");
    }
    check(r#"{{regexFindAll "a{2}|b{1,}?|c{0,}" "aabbcc" -1}}"#, "[aa b b cc]");
    // Digits with a zero in front are a name.
    check(r#"{{regexReplaceAll "(a)" "aba" "$01"}}"#, "b");
    check(r#"{{regexReplaceAll "(a)" "aba" "<$00$0$1$2$x$$>"}}"#, "<aa$>b<aa$>");
}

/// Whatever features other crates ask for.
#[test]
fn case_is_ignored_among_letters_of_ascii() {
    check(r#"{{regexMatch "(?i)^FOO$" "foo"}}{{regexFindAll "(?i:[j-l])|s" "kKKſ" -1}}"#, "true[k K K]");
    check(r#"{{regexFindAll "(?i)[^k]" "kKKſs" -1}}{{regexFindAll "(?i)\\W" "kKſ-" -1}}"#, "[ſ s][-]");
    refused(r#"{{regexMatch "(?i)é" "É"}}"#, "is none for Go");
    refused(r#"{{regexMatch "(?i)[\\x{e0}-\\x{ff}]" "É"}}"#, "is none for Go");
}

#[test]
fn bombs_end() {
    for (template, why) in [
        ("{{repeat 1000000000 \"aaaaaaaa\"}}", "more than 1 MiB"),
        ("{{repeat 9223372036854775807 \"aaaaaaaa\"}}", "more than 1 MiB"),
        ("{{indent 1000000000 \"a\\nb\"}}", "more than 1 MiB"),
        ("{{until 1000000000 | len}}", "100,000 steps"),
        ("{{range 1000000000}}x{{end}}", "100,000 steps"),
        ("{{seq 1 1000000000}}", "100,000 steps"),
        ("{{printf \"%1000000000d\" 1}}", "wider than 10,000"),
        ("{{define \"t\"}}{{template \"t\" .}}{{end}}{{template \"t\" .}}", "deeper than 100"),
        ("{{define \"t\"}}{{template \"t\" .}}{{template \"t\" .}}{{end}}{{template \"t\" .}}", "deeper than 100"),
        ("{{$x := list 1}}{{range 60}}{{$x = list $x $x}}{{end}}{{$x}}", "more than"),
        ("{{$x := list}}{{range 60}}{{$x = list $x $x}}{{end}}{{flatten $x}}", "100,000 steps"),
        ("{{$x := list}}{{range 60}}{{$x = list $x $x}}{{end}}{{deepEqual $x (list $x $x)}}", "false"),
        (
            "{{$x := list}}{{$y := list}}{{range 60}}{{$x = list $x $x}}{{$y = list $y $y}}{{end}}{{deepEqual $x $y}}",
            "100,000 steps",
        ),
        ("{{$x := list}}{{range 1000}}{{$x = list $x}}{{end}}", "nested too deep"),
        ("{{$x := \"a\"}}{{range 60}}{{$x = print $x $x}}{{end}}", "more than 1 MiB"),
        ("{{$x := repeat 1000000 \"a\"}}{{range 90000}}{{if contains \"b\" $x}}{{end}}{{end}}", "64 MiB"),
        ("{{regexMatch \"((a{100}){100}){100}\" \"a\"}}", "a regular expression"),
        ("{{$x := repeat 1000 \"a\"}}{{replace \"a\" $x (repeat 1000 $x)}}", "more than 1 MiB"),
        ("{{regexFindAll \"x*y|x\" (repeat 100000 \"x\") -1}}", "64 MiB"),
        ("{{regexMatch \"(?:a?b?c?d?e?){300}$\" (repeat 100000 \"a\")}}", "64 MiB"),
        ("{{regexMatch \"[^a]{1000}\" \"a\"}}", "too large"),
        ("{{regexFindAllGroups (repeat 2500 \"()\") -1 (repeat 190 \"a\") | len}}", "too large"),
        ("{{regexFindAllGroups (repeat 99 \"()\") -1 (repeat 1500 \"a\") | len}}", "64 MiB"),
        (
            "{{regexFindAllGroups (print (repeat 50 \"(\") \"a*\" (repeat 50 \")\")) -1 (repeat 1000000 \"a\")}}",
            "64 MiB",
        ),
        ("{{regexReplaceAll \"a\" (repeat 5000 \"a\") (repeat 300000 \"$x\") | len}}", "0"),
        ("{{regexReplaceAll \"a()\" (repeat 5000 \"a\") (repeat 300000 \"$1\")}}", "64 MiB"),
        ("{{trimAll (print (repeat 300000 \"b\") \"a\") (repeat 300000 \"a\") | len}}", "0"),
        (
            "{{$x := repeat 1000000 \"a\"}}{{$y := print $x}}{{has (list $x 1) (list (list $y 2) $y) }}\
             {{range 100}}{{if has (list $x 1) (list (list $y 2) $y)}}{{end}}{{end}}",
            "64 MiB",
        ),
        ("{{$x := repeat 1000000 \"\\\\\"}}{{regexQuoteMeta $x | len}}", "more than 1 MiB"),
        ("{{toKebabCase (repeat 400000 \"aB\") | len}}", "more than 1 MiB"),
        ("{{$x := repeat 1000000 \"a\"}}{{squote $x $x}}", "more than 1 MiB"),
        ("{{$x := repeat 2000 \"a\"}}{{regexReplaceAll \"a\" $x $x}}", "more than 1 MiB"),
    ] {
        let outcome = outcome(template);
        assert!(outcome.contains(why), "{template}: {}", outcome.get(..200).unwrap_or(&outcome));
    }
    let deep = format!("{}{}", "{{if true}}".repeat(5000), "{{end}}".repeat(5000));
    refused(&deep, "deeper than 100");
    refused(&format!("{{{{{}1{}}}}}", "(".repeat(5000), ")".repeat(5000)), "deeper than 100");
    refused(&format!("{{{{if 1}}}}{}{{{{end}}}}", "{{else if 1}}".repeat(5000)), "deeper than 100");
}

/// What costs little for one value and much for a template full of them.
#[test]
fn long_templates_end() {
    let many = |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<String>();
    let declared = many(10_000, &|at| format!("{{{{$a{at}:=1}}}}"));
    // Whoever looks for a variable pays for those that are declared behind it.
    check(&format!("{declared}{}", "{{if $a9999}}{{end}}".repeat(20_000)), "");
    refused(&format!("{declared}{}", "{{if $a0}}{{end}}".repeat(20_000)), "64 MiB");
    refused(&format!("{declared}{}", "{{$a0 = 1}}".repeat(20_000)), "64 MiB");
    // Arguments take no steps.
    for (call, argument) in [("or false", " \"\""), ("and true", " hello")] {
        let template = format!("{{{{range 1000}}}}{{{{if {call}{}}}}}{{{{end}}}}{{{{end}}}}", argument.repeat(10_000));
        assert!(outcome(&template).contains("64 MiB"), "{call}{argument}");
    }
    let expressions = many(5_000, &|at| format!("{{{{regexMatch \"a{at}\" \"\"}}}}"));
    refused(&expressions, "100,000 steps");
}

/// What stands where a name should may be as long as the template.
#[test]
fn names_are_shown_in_short() {
    let long = "a".repeat(1_000_000);
    for template in [
        format!("{{{{{long}}}}}"),
        format!("{{{{.{long}}}}}"),
        format!("{{{{.Namespace.Name.{long}}}}}"),
        format!("{{{{${long}}}}}"),
        format!("{{{{template \"{long}\"}}}}"),
    ] {
        let outcome = outcome(&template);
        assert!(outcome.contains(&format!("{}…`", "a".repeat(60))), "{outcome}");
        assert!(outcome.len() < 300, "{outcome}");
    }
}

#[test]
fn no_message_holds_a_value() {
    for template in [
        "{{.Data.s.password.x}}",
        "{{.Data.s.password | base64Decode}}",
        "{{.Data.s.password | fromJSON}}",
        "{{index .Data.o .Data.s.password}}",
        "{{.Data.s.password | toInt}}",
        "{{repeat .Data.s.password \"a\"}}",
        "{{regexMatch (print \"[\" .Data.s.password) \"a\"}}",
        "{{printf .Data.s.password 1}}",
        "{{printf \"%d\" .Data.s.password}}",
        "{{add .Data.s.password 1}}",
        "{{ternary 1 2 .Data.s.password}}",
        "{{lt .Data.s.password 1}}",
        "{{range .Data.s.password}}{{end}}",
        "{{get .Data.s.password .Namespace.Labels}}",
        "{{dig .Data.s.password .Data.s}}",
        "{{slice .Data.s.password (list 1)}}",
        "{{template \"hunter2\"}}",
    ] {
        let outcome = outcome(template);
        let quotes_itself = template.contains("hunter2");
        assert!(
            outcome.starts_with("refused: ") && (quotes_itself || !outcome.contains("hunter2")),
            "{template}: {outcome}"
        );
    }
    assert_eq!(format!("{:?}", data()), "Value");
}

/// Every name stands in one table, and nothing is both offered and refused.
#[test]
fn tables_agree() {
    let offered: alloc::vec::Vec<_> = functions::names().collect();
    let mut once = offered.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), offered.len());
    for name in offered {
        assert!(
            functions::find(name).is_some() && functions::why_not(name).0.ends_with(&format!("no function `{name}`")),
            "{name}"
        );
    }
}
