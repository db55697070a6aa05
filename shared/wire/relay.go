package wire

import (
	"bytes"
	"compress/gzip"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
)

// RelayVersion is the version that requests and answers of the relay are written in, and the newest that is read.
const RelayVersion = 1

// Limits of the relay.
const (
	MaxRelayRequestBytes = 1_000_000             // of the encoded request; the queue takes 1 MiB
	MaxRelayAnswerBytes  = 48 << 20              // of an answer's body
	RelayKeyBytes        = 32                    // of the key an answer is sealed with: AES-256
	RelayNonceBytes      = 12                    // of GCM
	MaxRelayAge          = 20 * time.Second      // after which a request is not carried out any more
	relayIDBytes         = 16                    // 128 bits, as hexadecimal digits
	maxRelayPathBytes    = 2_000                 // of a request's path, and of its query
	relayAnswerHeadBytes = 1 << 20               // of an answer beside its body
	relayWithinMillis    = int64(15 * 60 * 1000) // no invocation waits longer
)

// RelayRequest is one request to a cluster's API server that the watcher carries out for a function.
type RelayRequest struct {
	Version int `json:"v"`
	// 32 hexadecimal digits nobody can guess: the request sent again keeps it, and its answer lies under it
	ID           string `json:"id"`
	Cluster      string `json:"cluster"`
	Method       string `json:"method"`
	Path         string `json:"path"`
	Query        string `json:"query,omitempty"`
	Accept       string `json:"accept,omitempty"`
	ContentType  string `json:"contentType,omitempty"`
	Body         []byte `json:"body,omitempty"`
	Key          []byte `json:"key"`    // that its answer is sealed with: only who reads the queue can answer
	WithinMillis int64  `json:"within"` // how long the answer is waited for; it is not carried out after that
}

// Mutates reports whether carrying out the request twice may do more than once.
func (r *RelayRequest) Mutates() bool { return r.Method != "GET" }

// Life is for how long after it was sent the request may be carried out.
func (r *RelayRequest) Life() time.Duration {
	return min(time.Duration(r.WithinMillis)*time.Millisecond, MaxRelayAge)
}

// EncodeRelayRequest returns the request as JSON, with Version set. Invalid where DecodeRelayRequest would refuse it,
// and for a body that makes it larger than the queue takes.
func EncodeRelayRequest(r RelayRequest) ([]byte, error) {
	r.Version = RelayVersion
	if err := r.validate(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "Malformed", err, "encode %s %s", r.Method, r.Path)
	}
	if len(data) > MaxRelayRequestBytes {
		return nil, fault.New(fault.Invalid, "TooLarge",
			"%s %s with a body of %d bytes takes %d bytes on its way, and the queue to cluster %s takes %d",
			r.Method, r.Path, len(r.Body), len(data), r.Cluster, MaxRelayRequestBytes)
	}
	return data, nil
}

// DecodeRelayRequest reads what EncodeRelayRequest wrote. Invalid for anything else.
func DecodeRelayRequest(data []byte) (RelayRequest, error) {
	var r RelayRequest
	if len(data) > MaxRelayRequestBytes {
		return r, fault.New(fault.Invalid, "TooLarge",
			"request has %d bytes, at most %d are read", len(data), MaxRelayRequestBytes)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return RelayRequest{}, fault.Wrap(fault.Invalid, "Malformed", err, "decode request")
	}
	if err := r.validate(); err != nil {
		return RelayRequest{}, err
	}
	return r, nil
}

func (r *RelayRequest) validate() error {
	malformed := func(format string, args ...any) error {
		return fault.New(fault.Invalid, "Malformed", "request: "+format, args...)
	}
	switch {
	case r.Version < 1 || r.Version > RelayVersion:
		return fault.New(fault.Invalid, "UnknownVersion",
			"request has version %d, versions 1 to %d are read", r.Version, RelayVersion)
	case !relayID(r.ID):
		return malformed("id %.60q is not %d hexadecimal digits", r.ID, 2*relayIDBytes)
	case r.Cluster == "" || !fits(r.Cluster, maxClusterBytes):
		return malformed("cluster must have 1 to %d bytes, has %d", maxClusterBytes, len(r.Cluster))
	case len(r.Key) != RelayKeyBytes:
		return malformed("key must have %d bytes, has %d", RelayKeyBytes, len(r.Key))
	case r.Path == "" || r.Path[0] != '/' || !printable(r.Path) || len(r.Path) > maxRelayPathBytes:
		return malformed(
			"path %.60q must begin with / and have at most %d printable characters", r.Path, maxRelayPathBytes)
	case !printable(r.Query) || len(r.Query) > maxRelayPathBytes:
		return malformed("query %.60q must have at most %d printable characters", r.Query, maxRelayPathBytes)
	case len(r.Accept) > maxNameBytes || len(r.ContentType) > maxNameBytes:
		return malformed("accept and content type have at most %d characters", maxNameBytes)
	case r.WithinMillis < 1 || r.WithinMillis > relayWithinMillis:
		return malformed("within is %d ms, and must be 1 to %d", r.WithinMillis, relayWithinMillis)
	}
	switch r.Method {
	case "GET", "POST", "PUT", "PATCH", "DELETE":
		return nil
	}
	return malformed("method %.20q is none of GET, POST, PUT, PATCH, DELETE", r.Method)
}

// relayID reports whether an id is of the form that ids have: it is part of keys.
func relayID(id string) bool {
	raw, err := hex.DecodeString(id)
	return err == nil && len(raw) == relayIDBytes && id == strings.ToLower(id)
}

// RelayAnswer is what became of a request: what the API server said of it, or why it was not carried out.
type RelayAnswer struct {
	Status  int               `json:"status,omitempty"` // of HTTP
	Header  map[string]string `json:"header,omitempty"`
	Refused string            `json:"refused,omitempty"` // why, in a word; nothing was carried out. Empty = it was
	// why the API server gave no answer; it is unknown whether it was carried out
	Broken  string `json:"broken,omitempty"`
	Message string `json:"message,omitempty"` // of Refused and Broken, for people
	Body    []byte `json:"-"`
}

// Words of a refusal.
const (
	RelayUnknownSender = "UnknownSender" // no function of ours sent it
	RelayNotAllowed    = "NotAllowed"    // of a kind that no function of ours asks for
)

// SealRelayAnswer returns the answer packed and sealed with the key of the request of that id. The nonce must be
// another for each answer. Invalid for an answer that is too large.
//
//	version (1 byte), nonce (12), AES-256-GCM of gzip of: length of the head (4, big endian), head (JSON), body
func SealRelayAnswer(a RelayAnswer, id string, key, nonce []byte) ([]byte, error) {
	if len(a.Body) > MaxRelayAnswerBytes {
		return nil, fault.New(fault.Invalid, "TooLarge",
			"answer has a body of %d bytes, at most %d are handed on", len(a.Body), MaxRelayAnswerBytes)
	}
	seal, err := relaySeal(key, nonce)
	if err != nil {
		return nil, err
	}
	head, err := json.Marshal(a)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "Malformed", err, "encode answer")
	}
	packed := new(Compressor).Compress(binary.BigEndian.AppendUint32(nil, uint32(len(head))), head, a.Body)
	out := append([]byte{RelayVersion}, nonce...)
	return seal.Seal(out, nonce, packed, []byte(id)), nil
}

// OpenRelayAnswer reads what SealRelayAnswer wrote for the request of that id. Invalid for anything else: what was
// sealed with another key, for another request, or was changed.
func OpenRelayAnswer(data []byte, id string, key []byte) (RelayAnswer, error) {
	if len(data) < 1+RelayNonceBytes {
		return RelayAnswer{}, fault.New(fault.Invalid, "Malformed", "answer has %d bytes", len(data))
	}
	if data[0] != RelayVersion {
		return RelayAnswer{}, fault.New(fault.Invalid, "UnknownVersion",
			"answer has version %d, version %d is read", data[0], RelayVersion)
	}
	nonce := data[1 : 1+RelayNonceBytes]
	seal, err := relaySeal(key, nonce)
	if err != nil {
		return RelayAnswer{}, err
	}
	packed, err := seal.Open(nil, nonce, data[1+RelayNonceBytes:], []byte(id))
	if err != nil {
		return RelayAnswer{}, fault.Wrap(fault.Invalid, "Forged", err, "open the answer to request %s", id)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return RelayAnswer{}, fault.Wrap(fault.Invalid, "Malformed", err, "unpack the answer to request %s", id)
	}
	const most = 4 + relayAnswerHeadBytes + MaxRelayAnswerBytes
	plain, err := io.ReadAll(io.LimitReader(zip, most+1))
	if err != nil || len(plain) > most {
		return RelayAnswer{}, fault.Wrap(fault.Invalid, "Malformed", orTooLarge(err),
			"unpack the answer to request %s", id)
	}
	return splitRelayAnswer(plain, id)
}

func orTooLarge(err error) error {
	if err == nil {
		return fmt.Errorf("more than %d bytes", MaxRelayAnswerBytes)
	}
	return err
}

// splitRelayAnswer tells head and body apart.
func splitRelayAnswer(plain []byte, id string) (RelayAnswer, error) {
	if len(plain) < 4 {
		return RelayAnswer{}, fault.New(fault.Invalid, "Malformed", "the answer to request %s has no head", id)
	}
	size, rest := uint64(binary.BigEndian.Uint32(plain)), plain[4:]
	if size > uint64(len(rest)) {
		return RelayAnswer{}, fault.New(fault.Invalid, "Malformed",
			"the answer to request %s has a head of %d bytes, and %d are there", id, size, len(rest))
	}
	var a RelayAnswer
	if err := json.Unmarshal(rest[:size], &a); err != nil {
		return RelayAnswer{}, fault.Wrap(fault.Invalid, "Malformed", err, "decode the answer to request %s", id)
	}
	a.Body = rest[size:]
	if a.Refused == "" && a.Broken == "" && (a.Status < 100 || a.Status > 599) {
		return RelayAnswer{}, fault.New(fault.Invalid, "Malformed",
			"the answer to request %s has status %d", id, a.Status)
	}
	return a, nil
}

func relaySeal(key, nonce []byte) (cipher.AEAD, error) {
	if len(key) != RelayKeyBytes || len(nonce) != RelayNonceBytes {
		return nil, fault.New(fault.Invalid, "Malformed",
			"key and nonce must have %d and %d bytes, have %d and %d",
			RelayKeyBytes, RelayNonceBytes, len(key), len(nonce))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "key of an answer")
	}
	seal, err := cipher.NewGCM(block)
	return seal, fault.Wrap(fault.Internal, "", err, "key of an answer")
}

// RelayMessage is a request as it lay in the queue.
type RelayMessage struct {
	Receipt string // to release it
	Sender  string // unique id of the role that sent it, as AWS says: AROA…
	Body    []byte
	Age     time.Duration // when it was received, by the queue's own clock
}

// Digest tells this request of this sender from every other.
func (m *RelayMessage) Digest() string {
	sum := sha256.Sum256(append([]byte(m.Sender+"\n"), m.Body...))
	return hex.EncodeToString(sum[:])
}
