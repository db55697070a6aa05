package sqs

import (
	"container/list"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// MessageAttribute is a typed value beside a body: exactly one of the values.
type MessageAttribute struct {
	DataType    string  // "String", "Number" or "Binary", with an optional ".suffix"
	StringValue *string `json:",omitempty"`
	BinaryValue []byte  `json:",omitempty"`
}

// message is one message in one queue.
type message struct {
	id          string
	body        string
	attributes  map[string]MessageAttribute
	traceHeader string
	senderID    string
	group       string
	dedupID     string
	sequence    string // FIFO: twenty digits, growing
	arrival     uint64 // order of arrival in its queue

	sent          time.Time
	firstReceived time.Time
	received      time.Time // last
	receiveCount  int
	visibleAt     time.Time
	receipt       string // of the last receive; "" before the first
	sourceARN     string // of the queue it was redriven from

	// Where the queue has it; see queue.
	heapIndex int           // in waiting; -1 when not there
	inReady   *list.Element // nil when not there
	inGroup   *list.Element // nil in a standard queue
}

// inFlight tells whether the message has been received and is not yet visible
// again.
func (m *message) inFlight(now time.Time) bool {
	return m.receipt != "" && now.Before(m.visibleAt)
}

var (
	attributeName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	attributeType = regexp.MustCompile(`^(String|Number|Binary)(\..+)?$`)
	groupOrDedup  = regexp.MustCompile("^[A-Za-z0-9!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]{1,128}$")
)

// checkContents refuses what cannot be a body or its attributes.
func checkContents(body string, attributes map[string]MessageAttribute) error {
	if body == "" {
		return missing("MessageBody")
	}
	if !allowedText(body) {
		return errContents()
	}
	if len(attributes) > 10 {
		return invalid("Number of message attributes [%d] exceeds the allowed maximum [10].", len(attributes))
	}
	for name, a := range attributes {
		lower := strings.ToLower(name)
		switch {
		case len(name) > 256 || !attributeName.MatchString(name) || strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon."):
			return invalid("Message (user) attribute name '%s' is not valid.", name)
		case !attributeType.MatchString(a.DataType):
			return invalid("The message attribute '%s' has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String.", name)
		case strings.HasPrefix(a.DataType, "Binary") && len(a.BinaryValue) == 0,
			!strings.HasPrefix(a.DataType, "Binary") && (a.StringValue == nil || *a.StringValue == ""):
			return invalid("The message attribute '%s' must contain a non-empty value of its type.", name)
		case a.StringValue != nil && !allowedText(*a.StringValue):
			return errContents()
		}
	}
	return nil
}

// allowedText tells whether s is made of the characters XML 1.0 allows.
func allowedText(s string) bool {
	for _, r := range s {
		switch {
		case r == '\t', r == '\n', r == '\r', r >= 0x20 && r <= 0xD7FF, r >= 0xE000 && r <= 0xFFFD, r >= 0x10000:
		default:
			return false
		}
	}
	return utf8.ValidString(s)
}

// sizeBytes is what a message counts towards the limits.
func sizeBytes(body string, attributes map[string]MessageAttribute) int {
	n := len(body)
	for name, a := range attributes {
		n += len(name) + len(a.DataType) + len(a.BinaryValue)
		if a.StringValue != nil {
			n += len(*a.StringValue)
		}
	}
	return n
}

func md5Hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// md5OfAttributes is the checksum SQS documents for message attributes; "" for
// none.
func md5OfAttributes(attributes map[string]MessageAttribute) string {
	if len(attributes) == 0 {
		return ""
	}
	h := md5.New()
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		writeSized(h, []byte(name))
		writeSized(h, []byte(a.DataType))
		if a.StringValue != nil {
			h.Write([]byte{1})
			writeSized(h, []byte(*a.StringValue))
		} else {
			h.Write([]byte{2})
			writeSized(h, a.BinaryValue)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func writeSized(w io.Writer, b []byte) {
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(len(b)))
	w.Write(size[:])
	w.Write(b)
}
