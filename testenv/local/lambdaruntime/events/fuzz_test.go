package events

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// FuzzPattern: any pattern is refused or answers for any event.
func FuzzPattern(f *testing.F) {
	f.Add([]byte(`{"source":["aws.ec2"],"detail":{"state":[{"prefix":"a"},{"anything-but":["b"]},{"numeric":[">",1,"<=",5]},{"exists":false}]}}`), []byte(`{"source":"aws.ec2","detail":{"state":"abc"}}`))
	f.Add([]byte(`{"$or":[{"a":[{"wildcard":"*a*b*c*"}]},{"b":[{"cidr":"10.0.0.0/8"}]}]}`), []byte(`{"a":"aaaaaaaabbbbbbbb","b":"10.1.1.1"}`))
	f.Add([]byte(`{"a":[{"equals-ignore-case":"É"}]}`), []byte(`{"a":[["é"],null,{"a":[]}]}`))
	f.Fuzz(func(t *testing.T, text, event []byte) {
		bounds.Check(t, len(text)+len(event), func() {
			pattern, err := ParsePattern(text)
			if err != nil {
				return
			}
			if first := pattern.Matches(event); first != pattern.Matches(event) {
				t.Error("asked twice, it answers otherwise")
			}
		})
	})
}
