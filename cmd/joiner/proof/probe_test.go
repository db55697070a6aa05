package proof

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestMatchComparesWithEachReading(t *testing.T) {
	p := Probe{Readings: []Reading{
		{Name: "first", Want: Seen{"code": "A | B", "n": "1"}},
		{Name: "second", Want: Seen{"code": "C"}},
	}}
	for name, c := range map[string]struct {
		seen    Seen
		verdict Verdict
		reading string
	}{
		"the first":                    {Seen{"code": "B", "n": "1", "more": "x"}, Pass, "first"},
		"the other":                    {Seen{"code": "C", "n": "1"}, Differs, "second"},
		"none, by one fact":            {Seen{"code": "A", "n": "2"}, Fail, ""},
		"none, by a word in a word":    {Seen{"code": "A | B", "n": "1"}, Fail, ""},
		"none, since a fact is absent": {Seen{"code": "A"}, Fail, ""},
		"nothing":                      {nil, Fail, ""},
	} {
		if v, r := Match(p, c.seen); v != c.verdict || r != c.reading {
			t.Errorf("%s: %s %q, want %s %q", name, v, r, c.verdict, c.reading)
		}
	}
	if got := Mismatches(p.Readings[0], Seen{"n": "2"}); !slices.Equal(got, []string{"code", "n"}) {
		t.Errorf("missed %v", got)
	}
}

func TestBudgetRefusesWhatPassesTheCeiling(t *testing.T) {
	p := NewBudget(0.5)
	if err := p.Spend("a", 0.3); err != nil {
		t.Fatal(err)
	}
	var over *OverCeiling
	if err := p.Spend("b", 0.3); !errors.As(err, &over) || over.Spent != 0.3 || !strings.Contains(err.Error(), "b would cost up to $0.3000; $0.3000 of the ceiling of $0.50 is spent: raise --ceiling") {
		t.Errorf("%v", err)
	}
	if err := p.Afford("c", 0.2); err != nil || p.Spent() != 0.3 {
		t.Errorf("%v, spent %v: what is refused or only asked for costs nothing", err, p.Spent())
	}
	p.Open()
	if err := p.Spend("cleaning up", 0.3); err != nil || p.Spent() != 0.6 {
		t.Errorf("%v, spent %v: cleaning up is never refused", err, p.Spent())
	}
}

func TestRequestsAreCountedBySize(t *testing.T) {
	if a, b := requestCost("sqs", 10), requestCost("sqs", 1<<20); b < 16*a {
		t.Errorf("a message of 1 MiB costs %v, a small one %v", b, a)
	}
	if a, b := requestCost("dynamodb", 10), requestCost("dynamodb", 300<<10); b < 300*a {
		t.Errorf("an item of 300 KiB costs %v, a small one %v", b, a)
	}
	if requestCost("ec2", 1000) != 0 || requestCost("s3", 0) == 0 {
		t.Error("EC2's requests are free, S3's are not")
	}
}

func TestChooseTakesIDsAndServices(t *testing.T) {
	all := []Probe{{ID: "a1", Service: "a"}, {ID: "a2", Service: "a"}, {ID: "b1", Service: "b"}}
	ids := func(only, skip []string) string {
		list, err := Choose(all, only, skip)
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, p := range list {
			out = append(out, p.ID)
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		only, skip []string
		want       string
	}{
		{nil, nil, "a1 a2 b1"}, {[]string{"a"}, nil, "a1 a2"}, {[]string{"b1", "a2"}, nil, "a2 b1"}, {nil, []string{"a"}, "b1"}, {[]string{"a"}, []string{"a1"}, "a2"},
		{[]string{"c"}, nil, `--only names "c", which is no probe and no service: see joiner proof --list`}, {nil, []string{"a3"}, `--skip names "a3", which is no probe and no service: see joiner proof --list`},
	} {
		if got := ids(c.only, c.skip); got != c.want {
			t.Errorf("%v without %v: %q, want %q", c.only, c.skip, got, c.want)
		}
	}
}
