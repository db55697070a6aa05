package wire

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
)

const relayTestID = "00112233445566778899aabbccddeeff"

func relayTestKey(b byte) []byte { return bytes.Repeat([]byte{b}, RelayKeyBytes) }

func relayRequest() RelayRequest {
	return RelayRequest{
		Version: RelayVersion, ID: relayTestID, Cluster: "prod", Method: "PATCH", Path: "/api/v1/nodes/a", Query: "fieldManager=joiner", Accept: "application/json",
		ContentType: "application/merge-patch+json", Body: []byte("\x00k8s"), Key: relayTestKey(7), WithinMillis: 9_000,
	}
}

func TestRelayRequestArrivesAsItWasSent(t *testing.T) {
	want := relayRequest()
	data, err := EncodeRelayRequest(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeRelayRequest(data)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	if !got.Mutates() || got.Life() != 9*time.Second {
		t.Errorf("mutates %v, life %s", got.Mutates(), got.Life())
	}
	got.Method, got.WithinMillis = "GET", 60_000
	if got.Mutates() || got.Life() != MaxRelayAge {
		t.Errorf("mutates %v, life %s", got.Mutates(), got.Life())
	}
}

func TestRelayRequestsThatMakeNoSenseAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*RelayRequest)
		says   string
	}{
		"an id that is no digits":   {func(r *RelayRequest) { r.ID = "../../x" }, "id"},
		"an id in capitals":         {func(r *RelayRequest) { r.ID = strings.ToUpper(relayTestID) }, "id"},
		"an id that is too short":   {func(r *RelayRequest) { r.ID = "00" }, "id"},
		"no cluster":                {func(r *RelayRequest) { r.Cluster = "" }, "cluster"},
		"a short key":               {func(r *RelayRequest) { r.Key = r.Key[:16] }, "key"},
		"a relative path":           {func(r *RelayRequest) { r.Path = "api" }, "path"},
		"a path with a line end":    {func(r *RelayRequest) { r.Path = "/api\r\nX: y" }, "path"},
		"a query with a space":      {func(r *RelayRequest) { r.Query = "a= b" }, "query"},
		"another method":            {func(r *RelayRequest) { r.Method = "CONNECT" }, "method"},
		"no time":                   {func(r *RelayRequest) { r.WithinMillis = 0 }, "within"},
		"an hour":                   {func(r *RelayRequest) { r.WithinMillis = 3_600_000 }, "within"},
		"a body beyond the queue's": {func(r *RelayRequest) { r.Body = make([]byte, 800_000) }, "body of 800000 bytes"},
	} {
		r := relayRequest()
		c.change(&r)
		if _, err := EncodeRelayRequest(r); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, data := range map[string]string{"no JSON": "x", "nothing": "{}", "a newer version": `{"v":2}`, "very much": strings.Repeat(" ", MaxRelayRequestBytes+1)} {
		if _, err := DecodeRelayRequest([]byte(data)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRelayAnswerIsReadByWhoAskedAndNobodyElse(t *testing.T) {
	key, nonce := relayTestKey(1), make([]byte, RelayNonceBytes)
	for name, want := range map[string]RelayAnswer{
		"an answer":  {Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: bytes.Repeat([]byte("secret"), 10_000)},
		"no body":    {Status: 404, Body: []byte{}},
		"a refusal":  {Refused: RelayNotAllowed, Message: "no", Body: []byte{}},
		"no outcome": {Broken: "Internal", Message: "connection reset", Body: []byte{}},
	} {
		sealed, err := SealRelayAnswer(want, relayTestID, key, nonce)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := OpenRelayAnswer(sealed, relayTestID, key); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
		if bytes.Contains(sealed, []byte("secret")) {
			t.Errorf("%s: it can be read without the key", name)
		}
		other := strings.Replace(relayTestID, "0", "f", 1)
		if _, err := OpenRelayAnswer(sealed, other, key); fault.CodeOf(err) != "Forged" {
			t.Errorf("%s: as the answer to another request: %v", name, err)
		}
		if _, err := OpenRelayAnswer(sealed, relayTestID, relayTestKey(2)); fault.CodeOf(err) != "Forged" {
			t.Errorf("%s: with another key: %v", name, err)
		}
		for _, at := range []int{0, 1, RelayNonceBytes + 1, len(sealed) - 1} {
			changed := bytes.Clone(sealed)
			changed[at] ^= 1
			if _, err := OpenRelayAnswer(changed, relayTestID, key); !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: byte %d changed: %v", name, at, err)
			}
		}
		for cut := range min(len(sealed), 60) {
			if _, err := OpenRelayAnswer(sealed[:cut], relayTestID, key); !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: cut to %d bytes: %v", name, cut, err)
			}
		}
	}
	if _, err := SealRelayAnswer(RelayAnswer{Body: make([]byte, MaxRelayAnswerBytes+1)}, relayTestID, key, nonce); !fault.Is(err, fault.Invalid) {
		t.Errorf("too large: %v", err)
	}
	sealed, err := SealRelayAnswer(RelayAnswer{Status: 7}, relayTestID, key, nonce)
	if _, openErr := OpenRelayAnswer(sealed, relayTestID, key); err != nil || !fault.Is(openErr, fault.Invalid) {
		t.Errorf("a status that is none: %v %v", err, openErr)
	}
}

func TestRelayDigestTellsSendersApart(t *testing.T) {
	one, other := RelayMessage{Sender: "AROA1", Body: []byte("x")}, RelayMessage{Sender: "AROA2", Body: []byte("x")}
	again := RelayMessage{Sender: "AROA1", Body: []byte("x"), Receipt: "another", Age: time.Second}
	if one.Digest() == other.Digest() || one.Digest() != again.Digest() {
		t.Error("a digest is of sender and body, and of nothing else")
	}
}
