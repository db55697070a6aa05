package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

// JSON is a handler for AWS JSON: one URL, the action named by the X-Amz-Target
// header, a JSON document each way.
type JSON struct {
	Version      string // "1.0" or "1.1"
	TargetPrefix string // before the dot of X-Amz-Target, e.g. "AmazonSSM"
	// ErrorPrefix precedes the code in __type, e.g. "com.amazonaws.sqs#". JSON
	// 1.1 services leave it empty.
	ErrorPrefix string
	// CRC32 adds the x-amz-crc32 header DynamoDB clients check.
	CRC32   bool
	Actions map[string]JSONAction // keyed by action name
}

// JSONAction handles one action: the request document in, the result to
// marshal out. A nil result is written as {}.
type JSONAction func(ctx context.Context, body []byte) (any, error)

// JSONFunc makes an action of a function over decoded structs. Members the
// input struct does not have are ignored, as AWS ignores them; a member of the
// wrong JSON type is a SerializationException.
func JSONFunc[I, O any](f func(context.Context, *I) (*O, error)) JSONAction {
	return func(ctx context.Context, body []byte) (any, error) {
		in := new(I)
		if len(bytes.TrimSpace(body)) > 0 {
			if err := json.Unmarshal(body, in); err != nil {
				return nil, serializationError(err)
			}
		}
		out, err := f(ctx, in)
		if err != nil || out == nil {
			return nil, err
		}
		return out, nil
	}
}

func serializationError(err error) error {
	if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Errorf("SerializationException", "%s cannot be converted to %s (member %s)", strings.ToUpper(typed.Value), typed.Type, typed.Field)
	}
	if e, ok := errors.AsType[*Error](err); ok { // an UnmarshalJSON of the model refused
		return e
	}
	return Errorf("SerializationException", "request document: %v", err)
}

// ServeHTTP decodes, calls the action and writes its result or error.
func (j JSON) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		j.writeError(w, r, Errorf("SerializationException", "read request: %v", err))
		return
	}
	prefix, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	w, done := recorded(w, prefix, name, string(body))
	defer done()
	action, ok := j.Actions[name]
	if !ok || prefix != j.TargetPrefix {
		j.writeError(w, r, Errorf("UnknownOperationException", "The operation %q is not known to this service", r.Header.Get("X-Amz-Target")))
		return
	}
	result, err := action(r.Context(), body)
	if err != nil {
		j.writeError(w, r, err)
		return
	}
	if result == nil {
		result = struct{}{}
	}
	j.write(w, r, http.StatusOK, result)
}

func (j JSON) write(w http.ResponseWriter, r *http.Request, status int, v any) {
	doc, err := marshalJSON(v)
	if err != nil {
		status = http.StatusInternalServerError
		doc = []byte(`{"__type":"InternalFailure","message":"marshal response"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-amz-json-"+j.Version)
	h.Set("x-amzn-RequestId", RequestID(r.Context()))
	h.Set("Content-Length", strconv.Itoa(len(doc)))
	if j.CRC32 {
		h.Set("x-amz-crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(doc)), 10))
	}
	w.WriteHeader(status)
	w.Write(doc) // a client that has gone is not the model's concern
}

func (j JSON) writeError(w http.ResponseWriter, r *http.Request, err error) {
	e := AsError(err)
	doc := map[string]any{"__type": j.ErrorPrefix + e.Code}
	if e.Message != "" {
		doc["message"] = e.Message
	}
	maps.Copy(doc, e.Members)
	setHeaders(w, e)
	if e.QueryCode != "" {
		fault := "Sender"
		if !e.sender() {
			fault = "Receiver"
		}
		w.Header().Set("x-amzn-query-error", e.QueryCode+";"+fault)
	}
	j.write(w, r, e.HTTPStatus(), doc)
}

// WriteRESTJSON writes a REST JSON (EKS) result.
func WriteRESTJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	doc, err := marshalJSON(v)
	if err != nil {
		WriteRESTJSONError(w, r, err)
		return
	}
	writeRESTJSON(w, r, status, doc)
}

// WriteRESTJSONError writes a REST JSON error: the code in the x-amzn-ErrorType
// header, the message in the document.
func WriteRESTJSONError(w http.ResponseWriter, r *http.Request, err error) {
	e := AsError(err)
	doc := map[string]any{"message": e.Message}
	maps.Copy(doc, e.Members)
	encoded, err := marshalJSON(doc)
	if err != nil {
		encoded = []byte("{}")
	}
	setHeaders(w, e)
	w.Header().Set("x-amzn-ErrorType", e.Code)
	writeRESTJSON(w, r, e.HTTPStatus(), encoded)
}

func writeRESTJSON(w http.ResponseWriter, r *http.Request, status int, doc []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("x-amzn-RequestId", RequestID(r.Context()))
	w.WriteHeader(status)
	w.Write(doc)
}

// document is a large answer that writes itself faster than encoding/json does, to the same effect.
type document interface {
	AppendDocument(to []byte) ([]byte, error)
}

// marshalJSON is json.Marshal without HTML escaping, as AWS writes documents.
func marshalJSON(v any) ([]byte, error) {
	if d, ok := v.(document); ok {
		return d.AppendDocument(nil)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}
