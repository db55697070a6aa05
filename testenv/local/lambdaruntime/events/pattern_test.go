package events_test

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
)

func parse(t *testing.T, pattern string) events.Pattern {
	t.Helper()
	parsed, err := events.ParsePattern([]byte(pattern))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestPatternMatches(t *testing.T) {
	const event = `{"source":"aws.ec2","n":15,"zero":0,"flag":true,"none":null,"empty":"","list":["a","b"],"ip":"10.0.3.7",
		"detail":{"instance-id":"i-0abc","state":"running","deep":{"x":1},"rows":[{"k":"a","v":1},{"k":"b","v":2}],"nothing":[]}}`
	cases := []struct {
		name, pattern string
		want          bool
	}{
		{"exact", `{"source":["aws.ec2"]}`, true},
		{"exact, other value", `{"source":["aws.health"]}`, false},
		{"exact, one of several", `{"source":["aws.health","aws.ec2"]}`, true},
		{"exact is case sensitive", `{"source":["AWS.EC2"]}`, false},
		{"number by value", `{"n":[15.0]}`, true},
		{"number is no string", `{"n":["15"]}`, false},
		{"boolean", `{"flag":[true]}`, true},
		{"null", `{"none":[null]}`, true},
		{"null does not match absence", `{"absent":[null]}`, false},
		{"empty string", `{"empty":[""]}`, true},
		{"all fields must match", `{"source":["aws.ec2"],"n":[16]}`, false},
		{"nested", `{"detail":{"state":["running"]}}`, true},
		{"nested in a leaf", `{"source":{"x":["y"]}}`, false},
		{"element of an array", `{"list":["b"]}`, true},
		{"no element of an array", `{"list":["c"]}`, false},
		{"object in an array", `{"detail":{"rows":{"k":["b"],"v":[2]}}}`, true},
		{"fields of different objects in an array", `{"detail":{"rows":{"k":["a"],"v":[2]}}}`, false},
		{"prefix", `{"source":[{"prefix":"aws."}]}`, true},
		{"prefix, other", `{"source":[{"prefix":"ec2"}]}`, false},
		{"prefix of a number", `{"n":[{"prefix":"1"}]}`, false},
		{"prefix ignoring case", `{"source":[{"prefix":{"equals-ignore-case":"AWS."}}]}`, true},
		{"suffix", `{"source":[{"suffix":".ec2"}]}`, true},
		{"suffix, other", `{"source":[{"suffix":"aws"}]}`, false},
		{"equals ignoring case", `{"source":[{"equals-ignore-case":"AWS.EC2"}]}`, true},
		{"anything but a value", `{"source":[{"anything-but":"aws.health"}]}`, true},
		{"anything but, the value", `{"source":[{"anything-but":"aws.ec2"}]}`, false},
		{"anything but a list", `{"n":[{"anything-but":[14,16]}]}`, true},
		{"anything but a list, in it", `{"n":[{"anything-but":[14,15]}]}`, false},
		{"anything but a prefix", `{"source":[{"anything-but":{"prefix":"aws."}}]}`, false},
		{"anything but prefixes", `{"source":[{"anything-but":{"prefix":["gcp.","my."]}}]}`, true},
		{"anything but a wildcard", `{"source":[{"anything-but":{"wildcard":"a*2"}}]}`, false},
		{"anything but does not match absence", `{"absent":[{"anything-but":"x"}]}`, false},
		{"anything but, one element differs", `{"list":[{"anything-but":"a"}]}`, true},
		{"numeric equal", `{"n":[{"numeric":["=",15]}]}`, true},
		{"numeric range", `{"n":[{"numeric":[">",0,"<=",15]}]}`, true},
		{"numeric range, bound excluded", `{"n":[{"numeric":[">=",0,"<",15]}]}`, false},
		{"numeric of a string", `{"source":[{"numeric":[">",0]}]}`, false},
		{"numeric zero", `{"zero":[{"numeric":[">=",0]}]}`, true},
		{"exists", `{"detail":{"state":[{"exists":true}]}}`, true},
		{"exists, null", `{"none":[{"exists":true}]}`, true},
		{"exists, absent", `{"detail":{"absent":[{"exists":true}]}}`, false},
		{"exists holds for leaves only", `{"detail":{"deep":[{"exists":true}]}}`, false},
		{"not exists", `{"detail":{"absent":[{"exists":false}]}}`, true},
		{"not exists below what is absent", `{"absent":{"below":[{"exists":false}]}}`, true},
		{"not exists, present", `{"detail":{"state":[{"exists":false}]}}`, false},
		{"exists, empty array", `{"detail":{"nothing":[{"exists":true}]}}`, false},
		{"absent or a value", `{"detail":{"absent":["x",{"exists":false}]}}`, true},
		{"wildcard", `{"detail":{"instance-id":[{"wildcard":"i-*c"}]}}`, true},
		{"wildcard, several stars", `{"source":[{"wildcard":"a*.*2"}]}`, true},
		{"wildcard, whole text", `{"source":[{"wildcard":"*"}]}`, true},
		{"wildcard is anchored", `{"source":[{"wildcard":"ws*"}]}`, false},
		{"wildcard, parts may not overlap", `{"detail":{"state":[{"wildcard":"running*g"}]}}`, false},
		{"wildcard, escaped star", `{"source":[{"wildcard":"aws\\*"}]}`, false},
		{"cidr", `{"ip":[{"cidr":"10.0.0.0/16"}]}`, true},
		{"cidr, outside", `{"ip":[{"cidr":"10.1.0.0/16"}]}`, false},
		{"or, second branch", `{"$or":[{"n":[1]},{"flag":[true]}]}`, true},
		{"or, no branch", `{"$or":[{"n":[1]},{"flag":[false]}]}`, false},
		{"or beside a field", `{"source":["aws.health"],"$or":[{"n":[15]},{"flag":[true]}]}`, false},
		{"or below", `{"detail":{"$or":[{"state":["stopped"]},{"instance-id":["i-0abc"]}]}}`, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := parse(t, c.pattern).Matches([]byte(event)); got != c.want {
				t.Errorf("pattern %s: matches %v, want %v", c.pattern, got, c.want)
			}
		})
	}
}

func TestPatternDoesNotMatchWhatIsNoObject(t *testing.T) {
	pattern := parse(t, `{"a":[{"exists":false}]}`)
	for _, event := range []string{``, `text`, `[{"b":1}]`, `7`} {
		if pattern.Matches([]byte(event)) {
			t.Errorf("event %q matches", event)
		}
	}
	if !(events.Pattern{}).Matches([]byte(`{"a":1}`)) {
		t.Error("the zero pattern does not match")
	}
}

func TestParsePatternNamesWhatIsWrong(t *testing.T) {
	cases := []struct{ name, pattern, want string }{
		{"no JSON", `{`, "want an object"},
		{"null", `null`, "got null"},
		{"empty", `{}`, "empty"},
		{"plain value", `{"source":"aws.ec2"}`, "source: want an array or an object"},
		{"empty array", `{"detail":{"state":[]}}`, "detail: want an array or an object: state: the array is empty"},
		{"array in an array", `{"a":[["b"]]}`, "want a string, number"},
		{"unknown operator", `{"a":[{"like":"b"}]}`, "like: no such operator"},
		{"two operators", `{"a":[{"prefix":"b","suffix":"c"}]}`, "one operator"},
		{"prefix of a number", `{"a":[{"prefix":1}]}`, "prefix: want a string"},
		{"half a numeric", `{"a":[{"numeric":[">"]}]}`, "numeric: want an operator and a number"},
		{"odd numeric", `{"a":[{"numeric":["!=",1]}]}`, "numeric: want one of"},
		{"exists of a string", `{"a":[{"exists":"yes"}]}`, "exists: want true or false"},
		{"two stars", `{"a":[{"wildcard":"b**c"}]}`, "two stars"},
		{"bad escape", `{"a":[{"wildcard":"b\\c"}]}`, "must be followed"},
		{"negated numeric", `{"a":[{"anything-but":{"numeric":["=",1]}}]}`, "cannot be negated"},
		{"negated nothing", `{"a":[{"anything-but":[]}]}`, "the array is empty"},
		{"bad cidr", `{"a":[{"cidr":"10.0.0.0"}]}`, "cidr"},
		{"one branch", `{"$or":[{"a":[1]}]}`, "$or: want an array of at least two"},
		{"too deep", strings.Repeat(`{"a":`, 40) + `[1]` + strings.Repeat(`}`, 40), "nested more than"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := events.ParsePattern([]byte(c.pattern))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("pattern %s: got %v, want an error with %q", c.pattern, err, c.want)
			}
		})
	}
}
