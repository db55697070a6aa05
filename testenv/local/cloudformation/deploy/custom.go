package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
)

// defaultServiceTimeout is how long a custom resource may take that says nothing.
const defaultServiceTimeout = time.Hour

// customEvent is what a function is told of a custom resource. Source: AWS CloudFormation user guide, "Custom resource request
// objects".
type customEvent struct {
	RequestType           string
	ServiceToken          string
	ResponseURL           string
	StackID               string `json:"StackId"`
	RequestID             string `json:"RequestId"`
	ResourceType          string
	LogicalResourceID     string         `json:"LogicalResourceId"`
	PhysicalResourceID    string         `json:"PhysicalResourceId,omitempty"`
	ResourceProperties    map[string]any `json:",omitempty"`
	OldResourceProperties map[string]any `json:",omitempty"`
}

// customAnswer is what the function puts at the response's URL.
type customAnswer struct {
	Status             string // SUCCESS or FAILED
	Reason             string
	PhysicalResourceID string `json:"PhysicalResourceId"`
	StackID            string `json:"StackId"`
	RequestID          string `json:"RequestId"`
	LogicalResourceID  string `json:"LogicalResourceId"`
	NoEcho             bool
	Data               map[string]any
}

// makeCustom makes a custom resource, by the function its ServiceToken names.
func (a *Account) makeCustom(ctx context.Context, s *Stack, id string, properties map[string]any) error {
	answer, err := a.report(ctx, s, id, "Create", "", properties, nil)
	if err != nil {
		return err
	}
	s.values.custom[id] = made{id: answer.PhysicalResourceID, data: answer.Data}
	return nil
}

// changeCustom has a custom resource updated from old properties.
func (a *Account) changeCustom(ctx context.Context, s *Stack, id string, wanted, old properties) error {
	answer, err := a.report(ctx, s, id, "Update", s.values.custom[id].id, wanted, old)
	if err != nil {
		return err
	}
	s.values.custom[id] = made{id: answer.PhysicalResourceID, data: answer.Data}
	return nil
}

// Update has a custom resource of a stack updated to other properties, those of the template with changes.
func (a *Account) Update(ctx context.Context, s *Stack, id string, changes map[string]any) error {
	old, err := s.Properties(id)
	if err != nil {
		return err
	}
	wanted := maps.Clone(old)
	maps.Copy(wanted, changes)
	if err := a.changeCustom(ctx, s, id, wanted, old); err != nil {
		return fmt.Errorf("update %s of stack %s: %w", id, s.Environment.StackName, err)
	}
	return nil
}

// Delete has a custom resource of a stack deleted; the rest of the stack stays.
func (a *Account) Delete(ctx context.Context, s *Stack, id string) error {
	properties, err := s.Properties(id)
	if err != nil {
		return err
	}
	if _, err = a.report(ctx, s, id, "Delete", s.values.custom[id].id, properties, nil); err != nil {
		return fmt.Errorf("delete %s of stack %s: %w", id, s.Environment.StackName, err)
	}
	delete(s.values.custom, id)
	return nil
}

// report invokes the function of a custom resource and waits for what it puts at the response's URL.
func (a *Account) report(ctx context.Context, s *Stack, id, request, physical string, properties, old map[string]any) (customAnswer, error) {
	token, _ := properties["ServiceToken"].(string)
	if token == "" {
		return customAnswer{}, errors.New("ServiceToken is missing")
	}
	timeout := defaultServiceTimeout
	if seconds, ok := properties["ServiceTimeout"]; ok {
		n, err := strconv.Atoi(fmt.Sprint(seconds))
		if err != nil || n < 1 || n > 3600 {
			return customAnswer{}, fmt.Errorf("ServiceTimeout is %v; it is 1 to 3600 seconds", seconds)
		}
		timeout = time.Duration(n) * time.Second
	}
	event := customEvent{
		RequestType: request, ServiceToken: token, StackID: s.Environment.StackID, RequestID: uuid.NewString(), ResourceType: s.Resources[id].Type,
		LogicalResourceID: id, PhysicalResourceID: physical, ResourceProperties: asText(properties).(map[string]any),
	}
	if old != nil {
		event.OldResourceProperties = asText(old).(map[string]any)
	}
	var answered chan customAnswer
	event.ResponseURL, answered = a.answers.expect(event.RequestID)
	text, err := json.Marshal(event)
	if err != nil {
		return customAnswer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	result, err := a.Runtime.Invoke(ctx, lastPart(token), text)
	if err == nil {
		err = result.Err()
	}
	if err != nil {
		return customAnswer{}, fmt.Errorf("invoke %s: %w", token, err)
	}
	select {
	case answer := <-answered:
		return answer, answer.check(event)
	case <-ctx.Done():
		return customAnswer{}, fmt.Errorf("%s did not answer within %v", token, timeout)
	}
}

// check returns an error where the function failed, or answered something else than it was asked.
func (c customAnswer) check(asked customEvent) error {
	switch {
	case c.StackID != asked.StackID || c.RequestID != asked.RequestID || c.LogicalResourceID != asked.LogicalResourceID:
		return fmt.Errorf("the answer is of stack %q, request %q and resource %q", c.StackID, c.RequestID, c.LogicalResourceID)
	case c.Status == "FAILED":
		return errors.New(c.Reason)
	case c.Status != "SUCCESS":
		return fmt.Errorf("the answer's Status is %q; there are SUCCESS and FAILED", c.Status)
	case c.PhysicalResourceID == "":
		return errors.New("the answer has no PhysicalResourceId")
	case asked.RequestType == "Delete" && c.PhysicalResourceID != asked.PhysicalResourceID:
		return fmt.Errorf("the answer's PhysicalResourceId is %q, of a resource that is %q", c.PhysicalResourceID, asked.PhysicalResourceID)
	}
	return nil
}

// asText writes numbers and booleans as text, as CloudFormation does in properties of custom resources.
func asText(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			out[key] = asText(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = asText(v[i])
		}
		return out
	case string, nil:
		return v
	}
	return fmt.Sprint(v)
}

// answers is where functions put what became of custom resources. The zero value works.
type answers struct {
	mutex    sync.Mutex
	server   *httptest.Server
	expected map[string]chan customAnswer // by request
}

// expect returns where the answer to a request is to be put, and where it comes from then.
func (a *answers) expect(request string) (url string, answer chan customAnswer) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.server == nil {
		a.server, a.expected = httptest.NewServer(a), map[string]chan customAnswer{}
	}
	a.expected[request] = make(chan customAnswer, 1)
	return a.server.URL + "/" + request, a.expected[request]
}

// ServeHTTP takes one answer. The first of a request counts.
func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4096)) // the largest there may be
	var answer customAnswer
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil || r.Method != http.MethodPut || len(r.URL.Path) < 2 {
		http.Error(w, "want a PUT of at most 4096 bytes of JSON", http.StatusBadRequest)
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if expected, ok := a.expected[r.URL.Path[1:]]; ok {
		expected <- answer
		delete(a.expected, r.URL.Path[1:])
	}
}

func (a *answers) close() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.server != nil {
		a.server.Close()
	}
}
