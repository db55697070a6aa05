package powershell

import (
	"reflect"
	"strings"
	"testing"
)

func TestCommandsTakeAScriptApart(t *testing.T) {
	script := "# first\n" +
		"Write-Host \"it's `\"here`\"\" # and more\n" +
		"<# a 'comment\n over lines #>\n" +
		"$x = @'\n' \" anything $(\n'@\n" +
		"if ($x) { Set-Item 'a''b' ; C# }\n" +
		"& \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\" -EKSClusterName 'web' `\n  -KubeletExtraArgs '--a=b --c=d'\n"
	got, err := Commands(script)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range got {
		names = append(names, c.Name)
	}
	if want := []string{"Write-Host", "$x", "$x", "Set-Item", "C#", "if", `$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1`}; !reflect.DeepEqual(names, want) {
		t.Fatalf("got %q, want %q", names, want)
	}
	if a := got[0].Arguments; len(a) != 1 || a[0] != `it's "here"` {
		t.Errorf("got %q", a)
	}
	if a := got[1].Arguments; len(a) != 2 || a[1] != `' " anything $(` {
		t.Errorf("got %q", a)
	}
	if a := got[3].Arguments; len(a) != 1 || a[0] != "a'b" {
		t.Errorf("got %q", a)
	}
	want := map[string]string{"EKSClusterName": "web", "KubeletExtraArgs": "--a=b --c=d"}
	if p := got[6].Parameters(); !reflect.DeepEqual(p, want) {
		t.Errorf("got %v", p)
	}
}

func TestCommandsSayWhatIsLeftOpen(t *testing.T) {
	cases := map[string]string{
		"Write-Host 'a":           "line 1: a quotation",
		"a\nWrite-Host \"a`\"":    "line 2: a quotation",
		"a\n<# b":                 "line 2: a comment",
		"$x = @'\nb\n '@":         "line 1: a here-string",
		"$x = @\" c\n\"@":         "behind the head",
		"if (1) { a":              "line 1: a bracket",
		"a }":                     "closes nothing",
		"a `":                     "backtick",
		"a `\n":                   "backtick",
		"Write-Host \"$(a 'b)\"":  "a quotation",
		"Write-Host \u2018it's b": "",
	}
	for script, want := range cases {
		_, err := Commands(script)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: got %v", script, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got %v, want %q", script, err, want)
		}
	}
}

func FuzzCommands(f *testing.F) {
	f.Add("& 'a' -b \"c$(d)\" @'\ne\n'@ { f } `\n g")
	f.Fuzz(func(t *testing.T, script string) {
		commands, _ := Commands(script)
		for _, c := range commands {
			if c.Line < 1 || c.Line > 1+strings.Count(script, "\n") {
				t.Errorf("command %q is said to end in line %d", c.Name, c.Line)
			}
		}
	})
}
