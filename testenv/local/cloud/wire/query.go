package wire

import (
	"bytes"
	"context"
	"encoding/xml"
	"net/http"
	"net/url"
	"time"
)

// Query is a handler for AWS Query (STS, IAM) and its EC2 dialect: form
// parameters in, with the action named by Action, XML out.
type Query struct {
	// Namespace is the xmlns of responses, e.g.
	// "https://sts.amazonaws.com/doc/2011-06-15/".
	Namespace string
	// EC2 selects the EC2 dialect: results directly under the response element
	// with a requestId, and errors in a list.
	EC2     bool
	Actions map[string]QueryAction // keyed by action name
}

// QueryAction handles one action. The form no longer holds Action and Version.
// The result is marshalled by encoding/xml, its own element name replaced; nil
// gives an empty result.
type QueryAction func(ctx context.Context, form *Form) (any, error)

// QueryFunc makes an action of a function over decoded structs; see
// Form.Decode for the input and encoding/xml for the output.
func QueryFunc[I, O any](f func(context.Context, *I) (*O, error)) QueryAction {
	return func(ctx context.Context, form *Form) (any, error) {
		in := new(I)
		if err := form.Decode(in); err != nil {
			return nil, err
		}
		out, err := f(ctx, in)
		if err != nil || out == nil {
			return nil, err
		}
		return out, nil
	}
}

// ServeHTTP decodes, calls the action and writes its result or error.
func (q Query) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		q.writeError(w, r, Errorf("MalformedQueryString", "%v", err))
		return
	}
	parameters := withoutSignature(r.Form)
	form := ParseForm(parameters)
	name := form.Get("Action")
	w, done := recorded(w, q.Namespace, name, url.Values(parameters).Encode())
	defer done()
	delete(form.Children, "Action")
	delete(form.Children, "Version")
	action, ok := q.Actions[name]
	if !ok {
		q.writeError(w, r, Errorf("InvalidAction", "The action %s is not valid for this web service.", name))
		return
	}
	result, err := action(r.Context(), form)
	if err != nil {
		q.writeError(w, r, err)
		return
	}
	q.writeResult(w, r, name, result)
}

// withoutSignature drops what a presigned URL adds to the query.
func withoutSignature(form map[string][]string) map[string][]string {
	kept := map[string][]string{}
	for name, values := range form {
		if len(name) < 6 || name[:6] != "X-Amz-" {
			kept[name] = values
		}
	}
	return kept
}

func (q Query) writeResult(w http.ResponseWriter, r *http.Request, action string, result any) {
	if result == nil {
		result = struct{}{}
	}
	id := RequestID(r.Context())
	root := xml.StartElement{
		Name: xml.Name{Local: action + "Response"},
		Attr: []xml.Attr{{Name: xml.Name{Local: "xmlns"}, Value: q.Namespace}},
	}
	var doc []byte
	var err error
	if q.EC2 {
		doc, err = marshalXML(root, result)
		if err == nil {
			at := bytes.IndexByte(doc, '>') + 1
			doc = bytes.Join([][]byte{doc[:at], []byte("<requestId>" + id + "</requestId>"), doc[at:]}, nil)
		}
	} else {
		doc, err = marshalXML(root, queryResponse{
			Result:    named{action + "Result", result},
			RequestID: id,
		})
	}
	if err != nil {
		q.writeError(w, r, err)
		return
	}
	writeXML(w, r, http.StatusOK, doc)
}

type queryResponse struct {
	Result    named
	RequestID string `xml:"ResponseMetadata>RequestId"`
}

// named marshals value as an element of the given name.
type named struct {
	name  string
	value any
}

func (n named) MarshalXML(e *xml.Encoder, _ xml.StartElement) error {
	return e.EncodeElement(n.value, xml.StartElement{Name: xml.Name{Local: n.name}})
}

type queryError struct {
	Type      string `xml:"Error>Type"`
	Code      string `xml:"Error>Code"`
	Message   string `xml:"Error>Message"`
	RequestID string `xml:"RequestId"`
}

type ec2Error struct {
	Code      string `xml:"Errors>Error>Code"`
	Message   string `xml:"Errors>Error>Message"`
	RequestID string `xml:"RequestID"`
}

func (q Query) writeError(w http.ResponseWriter, r *http.Request, err error) {
	e := AsError(err)
	id := RequestID(r.Context())
	var doc []byte
	if q.EC2 {
		doc, err = marshalXML(xml.StartElement{Name: xml.Name{Local: "Response"}},
			ec2Error{Code: e.Code, Message: e.Message, RequestID: id})
	} else {
		kind := "Sender"
		if !e.sender() {
			kind = "Receiver"
		}
		doc, err = marshalXML(xml.StartElement{
			Name: xml.Name{Local: "ErrorResponse"},
			Attr: []xml.Attr{{Name: xml.Name{Local: "xmlns"}, Value: q.Namespace}},
		}, queryError{Type: kind, Code: e.Code, Message: e.Message, RequestID: id})
	}
	if err != nil {
		http.Error(w, "marshal error", http.StatusInternalServerError)
		return
	}
	setHeaders(w, e)
	writeXML(w, r, e.HTTPStatus(), doc)
}

func marshalXML(root xml.StartElement, v any) ([]byte, error) {
	var buf bytes.Buffer
	if err := xml.NewEncoder(&buf).EncodeElement(v, root); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func writeXML(w http.ResponseWriter, r *http.Request, status int, doc []byte) {
	w.Header().Set("Content-Type", "text/xml;charset=UTF-8")
	w.Header().Set("x-amzn-RequestId", RequestID(r.Context()))
	w.WriteHeader(status)
	w.Write([]byte(xml.Header))
	w.Write(doc)
}

// Set is a list of an EC2 response: <name><item>…</item></name>. Unlike a slice
// tagged "name>item" it is present, empty, when it has no items, as EC2's are.
type Set[T any] struct {
	Items []T `xml:"item"`
}

// SetOf returns a Set of items.
func SetOf[T any](items []T) Set[T] { return Set[T]{Items: items} }

// Members is a list of a Query response: <Name><member>…</member></Name>,
// present even when empty.
type Members[T any] struct {
	Items []T `xml:"member"`
}

// MembersOf returns Members of items.
func MembersOf[T any](items []T) Members[T] { return Members[T]{Items: items} }

// Time is a timestamp as XML protocols write it: UTC with milliseconds.
type Time struct{ time.Time }

// MarshalText writes e.g. 2026-01-02T03:04:05.000Z.
func (t Time) MarshalText() ([]byte, error) {
	return []byte(t.UTC().Format("2006-01-02T15:04:05.000Z")), nil
}

// Epoch is a timestamp as JSON protocols write it: seconds since 1970 with a
// fraction.
type Epoch struct{ time.Time }

// MarshalJSON writes e.g. 1767323045.123.
func (t Epoch) MarshalJSON() ([]byte, error) {
	return marshalJSON(float64(t.UnixMilli()) / 1000)
}
