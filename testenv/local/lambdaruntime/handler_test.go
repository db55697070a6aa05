package lambdaruntime_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

func TestFunctionsAreInvokedOverTheWire(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	server := httptest.NewServer(lambdaruntime.NewHandler(runner))
	defer server.Close()
	for _, c := range []struct {
		method, function, event string
		status                  int
		says                    string
	}{
		{"POST", "fixture", `{"do":"echo","text":"hello"}`, 200, "hello"},
		{"POST", runner.FunctionARN("fixture"), `{"do":"echo","text":"by its ARN"}`, 200, "by its ARN"},
		{"POST", "fixture", `{"do":"error"}`, 200, "errorMessage"},
		{"POST", "none", `{}`, 404, "Function not found: none"},
		{"GET", "fixture", ``, 501, "is not modelled"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+"/2015-03-31/functions/"+c.function+"/invocations", strings.NewReader(c.event))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != c.status || !strings.Contains(string(text), c.says) {
			t.Errorf("%s %s %s: status %d, %s, %v, want %d and %q", c.method, c.function, c.event, answer.StatusCode, text, err, c.status, c.says)
		}
		if failed := answer.Header.Get("X-Amz-Function-Error") != ""; failed != strings.Contains(c.event, "error") {
			t.Errorf("%s: X-Amz-Function-Error is %q", c.event, answer.Header.Get("X-Amz-Function-Error"))
		}
	}
}
