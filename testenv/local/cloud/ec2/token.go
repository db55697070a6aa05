package ec2

import (
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// token is what a client token stands for: the parameters it came with and the
// answer it got, or why it was refused. EC2 keeps tokens at least for a day; the model keeps them for good.
type token struct {
	input, output any
	refusal       error
}

const maxTokenBytes = 64

// replay looks a client token up. ok is true, and before the answer, when the
// same request was answered already; err is the refusal it got. input must marshal to JSON the same way
// when it is the same request.
func (m *Model) replay(action, clientToken string, input any) (before any, ok bool, err error) {
	if clientToken == "" {
		return nil, false, nil
	}
	if len(clientToken) > maxTokenBytes {
		return nil, false, wire.Errorf("InvalidParameterValue", "Invalid value for clientToken: it may have at most %d characters", maxTokenBytes)
	}
	t, known := m.tokens[action+"/"+clientToken]
	if !known {
		return nil, false, nil
	}
	if !same(t.input, input) {
		return nil, false, wire.Errorf("IdempotentParameterMismatch", "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).")
	}
	return t.output, t.refusal == nil, t.refusal
}

// remember keeps the answer to a request under its token, if it has one.
func (m *Model) remember(action, clientToken string, input, output any) {
	if clientToken != "" {
		m.tokens[action+"/"+clientToken] = token{input, output, nil}
	}
}

// refused keeps why a request was refused as a whole under its token, where that is how EC2 is read, and returns it.
func (m *Model) refused(action, clientToken string, input any, refusal error) error {
	if clientToken != "" && !m.reads.Takes(reading.TokenRefused) {
		m.tokens[action+"/"+clientToken] = token{input, nil, refusal}
	}
	return refusal
}
