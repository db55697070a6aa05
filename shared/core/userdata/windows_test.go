package userdata

import (
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/machine/powershell"
)

// UD-06: one block, the user's text first and then the call; and Custom is given nothing but its own text.
func TestUD06WindowsTextComesBeforeTheCall(t *testing.T) {
	const script = "Write-Host 'it''s' # custom\n$x = @\"\n' \"$y\n\"@"
	for _, family := range []string{"Windows2019", "Windows2022", "Windows2025"} {
		d := read(t, family, render(t, of(family, func(in *Input) { in.Class.UserData = script })))
		if !strings.HasPrefix(d.bodies[0], script+"\n") {
			t.Errorf("%s: the block is\n%s", family, d.bodies[0])
		}
		want := []string{
			"-EKSClusterName", "web", "-APIServerEndpoint", "https://web.example", "-Base64ClusterCA", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==",
			"-DNSClusterIP", "10.96.0.10", "-KubeletExtraArgs",
			"--node-labels=karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=default,team=a" +
				" --register-with-taints=dedicated=gpu:NoSchedule,karpenter.sh/unregistered:NoExecute --max-pods=58",
		}
		if !slices.Equal(d.words, want) {
			t.Errorf("%s: got\n%q\nwant\n%q", family, d.words, want)
		}
	}
}

func TestUD06CustomIsVerbatim(t *testing.T) {
	for _, text := range []string{"", "\x00any bytes\r\n", "MIME-Version: nonsense", "</powershell>"} {
		if got := render(t, of("Custom", func(in *Input) { in.Class.UserData = text })); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
}

// A text that leaves something open would make the call part of it, and the instance would never join.
func TestPowerShellLeftOpenIsRefused(t *testing.T) {
	cases := map[string]string{
		"Write-Host 'a":        "a quotation begun in line 1",
		"\nWrite-Host \u201ca": "a quotation begun in line 2",
		"Write-Host \"a`\"":    "a quotation begun in line 1",
		"$x = @'\nit''s\n '@":  "a here-string begun in line 1",
		"$x = @\"  \n'@\n":     "a here-string begun in line 1",
		"<# note":              "a comment begun in line 1",
		"a `":                  "the last line (it ends in a backtick)",
		"a `\n":                "the last line (it ends in a backtick)",
		"if ($x) {\n  (a\n":    "a bracket of line 2",
		"'' 'a''b' \"a\"\"b\" `' `\" # '\n& { 'b'":  "a bracket of line 2",
		"@( 'a' )\n@{ b = 'c' }\n@'\n@\n'@\n'open'": "",
		"C#'s":                    "", // the grammar tells whether it is a comment
		"cmd --% 'open":           "",
		"\"$('a' + \"b\")\" 'c":   "",
		"# it's\n<# it's #> a":    "",
		"a ``":                    "",
		"@' b":                    "",
		"a # `":                   "",
		"Write-Host `\n  'a'":     "",
		"\xff 'a' \xfe":           "",
		"a } )":                   "",
		"\"\u201d\" \u201e\u201d": "a quotation begun in line 1",
	}
	for script, want := range cases {
		if got := leftOpen(script); got != want {
			t.Errorf("%q: got %q, want %q", script, got, want)
		}
		_, err := Render(of("Windows2022", func(in *Input) { in.Class.UserData = script }))
		if refused := err != nil; refused != (want != "") {
			t.Errorf("%q: got %v", script, err)
		}
	}
}

// What is refused is open to another reader too, one that was written apart from this; what is not and that reader
// understands leaves the call whole.
func FuzzWindows(f *testing.F) {
	f.Add("Write-Host 'a' \"b$(c 'd')\" # e\n<# f #>\n$g = @'\nh\n'@\nif (1) { i `\n j }\n")
	f.Add("</powershell>\n& evil\n<powershell>\n")
	f.Add("a `")
	f.Add("C#'s @{ \u2018 }")
	f.Fuzz(func(t *testing.T, text string) {
		_, theirs := powershell.Commands(text)
		what := leftOpen(text)
		if what != "" && theirs == nil {
			t.Fatalf("%q is said to leave %s open", text, what)
		}
		got, err := Render(of("Windows2022", func(in *Input) { in.Class.UserData = text }))
		if err != nil || theirs != nil {
			return
		}
		d := read(t, "Windows2022", string(got))
		if d.cluster != "web" || d.maxPods != "58" || len(d.taints) != 2 {
			t.Fatalf("the machine is told %+v", d)
		}
	})
}
