package ec2fleet

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// FuzzDecodeRequest: what is stored of a launch is sent as it was written, or refused.
func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(`{"v":1,"intent":"i","token":"t","count":2,"templates":[{"overrides":[["m5.large","a","subnet-1",0.1]]}]}`))
	f.Add([]byte(`{"v":1,"templates":[null,{"overrides":null}]}`))
	f.Add([]byte(`{"version":1,"Version":1,"count":-1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		bounds.Check(t, len(data), func() {
			r, err := decodeRequest(data)
			if err != nil {
				if r != nil || !fault.Is(err, fault.Invalid) {
					t.Errorf("got %+v and %v", r, err)
				}
				return
			}
			if input := r.input(); input == nil || input.TargetCapacitySpecification == nil {
				t.Errorf("%s is sent as %+v", data, input)
			}
		})
	})
}
