package wire_test

import (
	"net/url"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/bounds"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// FuzzForm: the form of a request is read into a struct or refused with an error of the sender's.
func FuzzForm(f *testing.F) {
	f.Add("Name=a&Count=3&Ids.1=x&Ids.2=y&Tags.entry.1.key=k&Tags.entry.1.value=v&Nested.Deep.1.On=true")
	f.Add("Ids.member.1=x&Ids.0=y&Ids.99999999999=z&Nested=a&Nested.Deep=b")
	f.Add("Count=1e9&Count.1=2&=&.=&..=.&Ids.-1=a")
	f.Fuzz(func(t *testing.T, query string) {
		form, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		bounds.Check(t, len(query), func() {
			var in struct {
				Name   string
				Count  *int32
				Ids    []string
				Tags   map[string]string
				Nested struct {
					Deep []struct{ On *bool }
				}
			}
			parsed := wire.ParseForm(form)
			if err := parsed.Decode(&in); err != nil && wire.AsError(err).HTTPStatus() >= 500 {
				t.Errorf("refused as if it were our fault: %v", err)
			}
			_ = parsed.Get("Nested.Deep.1.On")
		})
	})
}
