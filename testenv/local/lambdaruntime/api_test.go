package lambdaruntime_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

func TestRuntimeAPIRefusesWhatIsOutOfTurn(t *testing.T) {
	cases := []struct {
		name, event string
		status      int
		want        string
	}{
		{"response to nobody", `{"do":"raw","method":"POST","url":"/2018-06-01/runtime/invocation/nobody/response","body":"1"}`, 400, "InvalidRequestID"},
		{"error of nobody", `{"do":"raw","method":"POST","url":"/2018-06-01/runtime/invocation/nobody/error","body":"{}"}`, 400, "InvalidRequestID"},
		{"extension without a name", `{"do":"raw","method":"POST","url":"/2020-01-01/extension/register","body":"{\"events\":[]}"}`, 400, "Extension.InvalidName"},
		{"extension that wants events", `{"do":"raw","method":"POST","url":"/2020-01-01/extension/register","header":{"Lambda-Extension-Name":"x"},` +
			`"body":"{\"events\":[\"INVOKE\"]}"}`, 403, "not modelled"},
		{"extension", `{"do":"raw","method":"POST","url":"/2020-01-01/extension/register","header":{"Lambda-Extension-Name":"x"},` +
			`"body":"{\"events\":[]}"}`, 200, `"functionName":"fixture"`},
		{"next of no extension", `{"do":"raw","method":"GET","url":"/2020-01-01/extension/event/next"}`, 403, "InvalidExtensionIdentifier"},
		{"next with POST", `{"do":"raw","method":"POST","url":"/2018-06-01/runtime/invocation/next"}`, 405, ""},
		{"unknown path", `{"do":"raw","method":"GET","url":"/2018-06-01/runtime/invocation/previous"}`, 404, ""},
	}
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := decode[struct {
				Status int
				Body   string
			}](t, invoke(t, runner, c.event))
			if got.Status != c.status || !strings.Contains(got.Body, c.want) {
				t.Errorf("got %d %q, want %d with %q", got.Status, got.Body, c.status, c.want)
			}
		})
	}
}

func TestSecondAnswerIsRefusedAndTheProcessExits(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	result := invoke(t, runner, `{"do":"answertwice","body":"\"first\""}`)
	// The library's own answer came second: it was refused, and the library gave up before it asked for the next event.
	if result.ErrorType != lambdaruntime.ErrorTypeExit {
		t.Errorf("got payload %q, type %q, want the exit", result.Payload, result.ErrorType)
	}
}

func TestClientContextReachesTheHandler(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	result, err := runner.Do(t.Context(), lambdaruntime.Request{Function: "fixture", ClientContext: `{"custom":{"who":"test"}}`})
	if err != nil {
		t.Fatal(err)
	}
	if got := decode[struct{ Client map[string]string }](t, result).Client["who"]; got != "test" {
		t.Errorf("the handler saw %q, want test", got)
	}
}

func TestCredentialsAreThoseOfTheRole(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{Credentials: func(_ context.Context, fn lambdaruntime.Function) (aws.Credentials, error) {
		if fn.Role == "" {
			return aws.Credentials{}, errors.New("no role")
		}
		return aws.Credentials{AccessKeyID: "key of " + fn.Role, SecretAccessKey: "secret", SessionToken: "token"}, nil
	}})
	deploy(t, runner, func(fn *lambdaruntime.Function) { fn.Role = "arn:aws:iam::123456789012:role/provision" })
	env := decode[report](t, invoke(t, runner, `{}`)).Env
	if env["AWS_ACCESS_KEY_ID"] != "key of arn:aws:iam::123456789012:role/provision" || env["AWS_SECRET_ACCESS_KEY"] != "secret" || env["AWS_SESSION_TOKEN"] != "token" {
		t.Errorf("key %q, secret %q, token %q", env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], env["AWS_SESSION_TOKEN"])
	}
	deploy(t, runner)
	if _, err := runner.Invoke(t.Context(), "fixture", nil); err == nil || !strings.Contains(err.Error(), "no role") {
		t.Errorf("without a role: got %v, want the refusal", err)
	}
}

func TestRequestMustBeJSON(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	if _, err := runner.Invoke(t.Context(), "fixture", []byte(`{"do":`)); err == nil || !strings.Contains(err.Error(), "not JSON") {
		t.Errorf("got %v, want a refusal", err)
	}
	if got := decode[json.RawMessage](t, invoke(t, runner, ``)); len(got) == 0 {
		t.Error("an empty payload was not taken as {}")
	}
}
