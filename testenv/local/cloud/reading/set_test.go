package reading

import (
	"slices"
	"strings"
	"testing"
)

func TestReadingsAreParsed(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"all=default":                       "",
		"ec2-token-refused=other":           "ec2-token-refused=other",
		" s3-conditional-conflict=other , ": "s3-conditional-conflict=other",
		"ec2-token-refused=other,ec2-token-refused=default": "",
	} {
		s, err := Parse(text)
		if err != nil || s.String() != want {
			t.Errorf("%q: %q, %v, want %q", text, s, err, want)
		}
	}
	all, err := Parse("all=other,ec2-token-refused=default")
	if err != nil || all.Takes(TokenRefused) || len(all.Others()) != len(doubts)-1 {
		t.Errorf("all but one: %v, %v", all.Others(), err)
	}
	if got := AllOther().Others(); len(got) != len(doubts) {
		t.Errorf("all others are %d of %d", len(got), len(doubts))
	}
	if back, err := Parse(all.String()); err != nil || back.String() != all.String() {
		t.Errorf("read back: %v, %v", back, err)
	}
}

func TestReadingsThatAreNoneAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"all":                     `"all" says neither all=other nor all=default`,
		"ec2-token-refused=maybe": `"ec2-token-refused=maybe" says neither`,
		"ec2-weather=other":       `"ec2-weather" is no doubt; there are all, `,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), Variable) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestSetsAreOneOfTwoReadings(t *testing.T) {
	if s := Other(PolicyLag); !s.Takes(PolicyLag) || Strict(PolicyLag).Takes(PolicyLag) || len(Default().Others()) != 0 {
		t.Errorf("other %v, strict %v, default %v", s.Others(), Strict(PolicyLag).Others(), Default().Others())
	}
	defer func() {
		if recover() == nil {
			t.Error("a doubt there is not does not panic")
		}
	}()
	Default().Takes("ec2-weather")
}

func TestEveryDoubtHasTwoReadings(t *testing.T) {
	ids := idsOf(doubts)
	if unique := slices.Compact(slices.Clone(ids)); len(unique) != len(ids) {
		t.Errorf("ids are not unique: %v", ids)
	}
	for _, d := range doubts {
		if d.Default == "" || d.Other == "" || d.Default == d.Other {
			t.Errorf("%s has no two readings: %q, %q", d.ID, d.Default, d.Other)
		}
	}
}
