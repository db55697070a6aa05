package ekscluster

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"mime"
	"net/http"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"

	kjson "sigs.k8s.io/json"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/typed"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/wire"
)

// What an API server may answer to one request. It belongs to the cluster's people, who may be hostile to others of the
// installation, and answers for relayed requests come from its watcher. A page of 500 pods or nodes takes a few MB, and
// less than 40 MB in memory.
const (
	maxAnswerBytes   = 32 << 20
	maxAnswerWeight  = 128 << 20 // in memory, by what its types take
	maxOddBytes      = 1 << 20   // of an answer that is neither protobuf nor JSON of a known kind, such as a proxy's
	maxListed        = wire.MaxPods
	listersAtOnce    = 4
	protobufEnvelope = "k8s\x00"
)

// bounded reads answers whole, and refuses those that are too large, or would be once they are decoded.
type bounded struct {
	next http.RoundTripper
	open bool // objects are decoded into maps, whatever they are
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(request)
	if err != nil || request.URL.Query().Get("watch") != "" {
		return response, err
	}
	what := "the answer to " + request.Method + " " + request.URL.Path
	body, err := readBounded(what, response)
	response.Body.Close()
	if err == nil {
		err = b.weigh(what, response.Header.Get("Content-Type"), body)
	}
	if err != nil {
		return nil, err
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, nil
}

func readBounded(what string, response *http.Response) ([]byte, error) {
	var body bytes.Buffer
	if n := response.ContentLength; n > 0 && n <= maxAnswerBytes {
		body.Grow(int(n) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(io.LimitReader(response.Body, maxAnswerBytes+1)); err != nil {
		return nil, err
	}
	if body.Len() > maxAnswerBytes {
		return nil, fault.New(fault.Invalid, "TooLarge", "%s has more than %d bytes", what, maxAnswerBytes)
	}
	return body.Bytes(), nil
}

// weigh refuses what takes too much once it is decoded.
func (b bounded) weigh(what, contentType string, body []byte) error {
	media, _, _ := mime.ParseMediaType(contentType)
	switch {
	case bytes.HasPrefix(body, []byte(protobufEnvelope)):
		return weighProtobuf(what, body[len(protobufEnvelope):])
	case b.open && media == "application/json":
		_, err := anything.Weigh(what, body, maxAnswerWeight)
		return err
	case media == "application/json":
		var meta struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if kjson.UnmarshalCaseSensitivePreserveInts(body, &meta) == nil {
			if t := typed.TypeOf(meta.APIVersion, meta.Kind); t != nil {
				_, err := formOf(t).Weigh(what, body, maxAnswerWeight)
				return err
			}
		}
	}
	if len(body) > maxOddBytes {
		return fault.New(fault.Invalid, "TooLarge",
			"%s has %d bytes of content type %.60q and no requested kind; of such at most %d are read",
			what, len(body), contentType, maxOddBytes)
	}
	return nil
}

var (
	anything = wire.FormOf(reflect.TypeFor[any]())
	forms    sync.Map // *wire.Form by reflect.Type
)

func formOf(t reflect.Type) *wire.Form {
	if known, ok := forms.Load(t); ok {
		return known.(*wire.Form)
	}
	known, _ := forms.LoadOrStore(t, wire.FormOf(t))
	return known.(*wire.Form)
}

// weighProtobuf weighs what follows the envelope's mark: a runtime.Unknown, whose first field says the kind and whose
// second is the object.
func weighProtobuf(what string, body []byte) error {
	p := scale{what: what, left: maxAnswerWeight}
	var version, kind string
	var object []byte
	err := p.fields(body, func(number int, value []byte) error {
		switch number {
		case 1:
			return p.fields(value, func(number int, value []byte) error {
				switch number {
				case 1:
					version = string(value[:min(len(value), 300)])
				case 2:
					kind = string(value[:min(len(value), 300)])
				}
				return nil
			})
		case 2:
			object = value
		}
		return nil
	})
	if err != nil {
		return err
	}
	t := typed.TypeOf(version, kind)
	if t == nil {
		return fault.New(fault.Invalid, "UnknownKind", "%s is of kind %.100q of %.100q, which was not requested", what,
			kind, version)
	}
	return p.message(object, t)
}

// scale adds up what a message in protobuf takes once it is decoded, without making anything of it.
type scale struct {
	what string
	left int64
}

func (p *scale) charge(bytes int) error {
	if p.left -= int64(bytes); p.left < 0 {
		return fault.New(fault.Invalid, "TooLarge", "%s takes more than %d MiB in memory, which is the most for one",
			p.what, maxAnswerWeight>>20)
	}
	return nil
}

// fields calls do for each field of a message, with its bytes where it has a length, else with nil.
func (p *scale) fields(message []byte, do func(number int, value []byte) error) error {
	malformed := func() error {
		return fault.New(fault.Invalid, "Malformed", "%s is not protobuf", p.what)
	}
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 || tag>>3 == 0 || tag>>3 > math.MaxInt32 {
			return malformed()
		}
		message = message[n:]
		var value []byte
		skip := 0
		switch tag & 7 {
		case 0:
			if _, skip = binary.Uvarint(message); skip <= 0 {
				return malformed()
			}
		case 1:
			skip = 8
		case 5:
			skip = 4
		case 2:
			length, n := binary.Uvarint(message)
			if n <= 0 || length > uint64(len(message)-n) {
				return malformed()
			}
			value, skip = message[n:n+int(length):n+int(length)], n+int(length)
		default:
			return malformed()
		}
		if skip > len(message) {
			return malformed()
		}
		message = message[skip:]
		if err := do(int(tag>>3), value); err != nil {
			return err
		}
	}
	return nil
}

const (
	textCost  = 32 // of a string: its header where it lies in a list or a map, and steps of allocation
	ownCost   = 64 // of what a type decodes by itself, beside its bytes
	growCost  = 2  // of an element of a list that grows
	entryCost = 64 // of a map's entry, beside key and value
)

// message charges what a message of a struct takes beside the struct itself.
func (p *scale) message(message []byte, t reflect.Type) error {
	fields := numbered(t)
	if len(fields) == 0 { // it decodes itself, such as a quantity or a time
		return p.charge(ownCost + 2*len(message))
	}
	return p.fields(message, func(number int, value []byte) error {
		if t := fields[number]; t != nil {
			return p.value(value, t)
		}
		return nil
	})
}

// value charges what a field of a type takes beside the field itself.
func (p *scale) value(value []byte, t reflect.Type) error {
	switch t.Kind() {
	case reflect.Pointer:
		if err := p.charge(int(t.Elem().Size())); err != nil {
			return err
		}
		return p.value(value, t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return p.charge(len(value))
		}
		if err := p.charge(growCost * int(t.Elem().Size())); err != nil {
			return err
		}
		if t.Elem().Kind() <= reflect.Float64 { // numbers may come many in one value
			return p.charge(growCost * int(t.Elem().Size()) * len(value))
		}
		return p.value(value, t.Elem())
	case reflect.Map:
		if err := p.charge(entryCost + growCost*int(t.Key().Size()+t.Elem().Size())); err != nil {
			return err
		}
		return p.fields(value, func(number int, value []byte) error {
			if number == 2 {
				return p.value(value, t.Elem())
			}
			return p.charge(textCost + len(value))
		})
	case reflect.String:
		return p.charge(textCost + len(value))
	case reflect.Struct:
		return p.message(value, t)
	}
	return nil
}

var numbers sync.Map // map[int]reflect.Type by reflect.Type

// numbered are the types of a struct's fields by their numbers in protobuf.
func numbered(t reflect.Type) map[int]reflect.Type {
	if known, ok := numbers.Load(t); ok {
		return known.(map[int]reflect.Type)
	}
	out := map[int]reflect.Type{}
	for i := range t.NumField() {
		parts := strings.Split(t.Field(i).Tag.Get("protobuf"), ",")
		if len(parts) < 2 {
			continue
		}
		if number, err := strconv.Atoi(parts[1]); err == nil {
			out[number] = t.Field(i).Type
		}
	}
	known, _ := numbers.LoadOrStore(t, out)
	return known.(map[int]reflect.Type)
}

// short returns an error where what is live takes more than four fifths of what the program may use before it is
// collected without end, as Lambda's functions may: what is listed further would end the function, and all that it does
// for other clusters.
func short(kind string, listed int) error {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 || live() < uint64(limit)/5*4 {
		return nil
	}
	if runtime.GC(); live() < uint64(limit)/5*4 {
		return nil
	}
	return fault.New(fault.Invalid, "TooLarge", "list %s: after %d of them memory is short; %d MiB of %d are in use",
		kind, listed, live()>>20, limit>>20)
}

func live() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
