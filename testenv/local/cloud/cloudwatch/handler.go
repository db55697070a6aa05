package cloudwatch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"

	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Handler serves a Model on the wire protocol of CloudWatch: Smithy RPC v2 with CBOR.
type Handler struct{ model *Model }

// NewHandler serves m.
func NewHandler(m *Model) *Handler { return &Handler{m} }

// operations is what comes before the name of an action in the path.
const operations = "/service/GraniteServiceVersion20100801/operation/"

// ActionName returns what comes last in the path.
func (h *Handler) ActionName(r *http.Request) string { return path.Base(r.URL.Path) }

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		wire.WriteCBORError(w, wire.Errorf("SerializationException", "read request: %v", err))
		return
	}
	if r.URL.Path != operations+"DescribeAlarms" || r.Header.Get("Smithy-Protocol") != "rpc-v2-cbor" {
		wire.WriteCBORError(w, wire.StatusErrorf(http.StatusNotFound, "UnknownOperationException",
			"This model knows DescribeAlarms alone"))
		return
	}
	in, err := read(body)
	if err != nil {
		wire.WriteCBORError(w, wire.Errorf("ValidationError", "%v", err))
		return
	}
	wire.WriteCBOR(w, http.StatusOK, h.model.describe(in))
}

// describeInput is what a request says.
type describeInput struct {
	names []string
	kinds map[bool]bool // false = metric alarms, true = composite alarms
	most  int
	token string
}

// Limits of DescribeAlarms. Source: API reference.
const (
	maxNames    = 100
	maxRecords  = 100
	defaultPage = 50
)

func read(body []byte) (*describeInput, error) {
	value, err := cbor.Decode(body)
	if err != nil {
		return nil, err
	}
	members, ok := value.(cbor.Map)
	if !ok {
		return nil, errors.New("the request is no map")
	}
	in := &describeInput{most: defaultPage, kinds: map[bool]bool{}}
	for name, value := range members {
		switch name {
		case "AlarmNames":
			in.names = texts(value)
		case "AlarmTypes":
			for _, kind := range texts(value) {
				if kind != "MetricAlarm" && kind != "CompositeAlarm" {
					return nil, fmt.Errorf("this model knows no alarms of type %q", kind)
				}
				in.kinds[kind == "CompositeAlarm"] = true
			}
		case "MaxRecords":
			n, err := cbor.AsInt32(value)
			if err != nil || n < 1 || n > maxRecords {
				return nil, fmt.Errorf("MaxRecords is from 1 to %d", maxRecords)
			}
			in.most = int(n)
		case "NextToken":
			token, _ := value.(cbor.String)
			in.token = string(token)
		default:
			return nil, fmt.Errorf("this model does not know member %s", name)
		}
	}
	if len(in.kinds) == 0 {
		in.kinds[false] = true // of a request without AlarmTypes
	}
	if len(in.names) > maxNames {
		return nil, fmt.Errorf("AlarmNames has at most %d names", maxNames)
	}
	return in, nil
}

func texts(value cbor.Value) (out []string) {
	list, _ := value.(cbor.List)
	for _, item := range list {
		text, _ := item.(cbor.String)
		out = append(out, string(text))
	}
	return out
}

func (m *Model) describe(in *describeInput) cbor.Map {
	alarms, next := m.page(in.names, in.kinds, in.token, in.most)
	lists := map[bool]cbor.List{}
	for _, a := range alarms {
		lists[a.composite] = append(lists[a.composite], cbor.Map{
			"AlarmName": cbor.String(a.name), "StateValue": cbor.String(a.state),
		})
	}
	out := cbor.Map{"MetricAlarms": lists[false], "CompositeAlarms": lists[true]}
	if next != "" {
		out["NextToken"] = cbor.String(next)
	}
	return out
}
