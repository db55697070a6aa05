package eventsource

import (
	"encoding/json"
	"maps"
	"strconv"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

// maxBatchBytes bounds the event of one batch.
const maxBatchBytes = lambdaruntime.MaxRequestBytes

// eventOverheadBytes is what an event is longer than its records: {"Records":[…]} and its commas are within it.
const eventOverheadBytes = 16

// record is one message as the function receives it, with its JSON.
type record struct {
	lambdaevents.SQSMessage
	json []byte
}

// newRecord turns a message into a record. Only a body that is no UTF-8 could fail to marshal, and SQS refuses those.
func (m *Mapping) newRecord(message types.Message) (record, error) {
	return marshalRecord(lambdaevents.SQSMessage{
		MessageId: aws.ToString(message.MessageId), ReceiptHandle: aws.ToString(message.ReceiptHandle),
		Body: aws.ToString(message.Body), Md5OfBody: aws.ToString(message.MD5OfBody),
		Md5OfMessageAttributes: aws.ToString(message.MD5OfMessageAttributes),
		Attributes:             message.Attributes, MessageAttributes: messageAttributes(message.MessageAttributes),
		EventSource: "aws:sqs", EventSourceARN: m.queueARN, AWSRegion: m.region,
	})
}

func marshalRecord(message lambdaevents.SQSMessage) (record, error) {
	raw, err := json.Marshal(message)
	return record{SQSMessage: message, json: raw}, err
}

// again is the record as a second delivery would show it, its receive count raised by one.
func (r record) again() record {
	const name = string(types.MessageSystemAttributeNameApproximateReceiveCount)
	receives, err := strconv.Atoi(r.Attributes[name])
	if err != nil {
		return r // the queue does not count
	}
	message := r.SQSMessage
	message.Attributes = maps.Clone(r.Attributes)
	message.Attributes[name] = strconv.Itoa(receives + 1)
	repeated, err := marshalRecord(message)
	if err != nil {
		return r
	}
	return repeated
}

func messageAttributes(attributes map[string]types.MessageAttributeValue) map[string]lambdaevents.SQSMessageAttribute {
	converted := map[string]lambdaevents.SQSMessageAttribute{}
	for name, value := range attributes {
		converted[name] = lambdaevents.SQSMessageAttribute{
			StringValue: value.StringValue, BinaryValue: value.BinaryValue, DataType: aws.ToString(value.DataType),
			StringListValues: []string{}, BinaryListValues: [][]byte{},
		}
	}
	return converted
}

func (r record) group() string {
	return r.Attributes[string(types.MessageSystemAttributeNameMessageGroupId)]
}

// event is the payload of an invocation with the records.
func event(records []record) ([]byte, error) {
	raw := make([]json.RawMessage, len(records))
	for i, r := range records {
		raw[i] = r.json
	}
	return json.Marshal(map[string][]json.RawMessage{"Records": raw})
}

// split cuts records into batches whose events are within the payload limit, keeping their order. A record over the limit
// is a batch of its own, for the runner to refuse.
func split(records []record) [][]record {
	var batches [][]record
	begin, size := 0, eventOverheadBytes
	for i, r := range records {
		length := len(r.json) + 1
		if i > begin && size+length > maxBatchBytes {
			batches = append(batches, records[begin:i])
			begin, size = i, eventOverheadBytes
		}
		size += length
	}
	if begin < len(records) {
		batches = append(batches, records[begin:])
	}
	return batches
}

// sizeBytes is the messages' share of a payload, roughly: their bodies.
func sizeBytes(messages []types.Message) int {
	size := 0
	for _, message := range messages {
		size += len(aws.ToString(message.Body))
	}
	return size
}

// filterEvent is the record as filters see it: a body that is JSON stands as an object, not as a string.
func (r record) filterEvent() []byte {
	if !json.Valid([]byte(r.Body)) {
		return r.json
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.json, &members); err != nil {
		return r.json
	}
	members["body"] = json.RawMessage(r.Body)
	combined, err := json.Marshal(members)
	if err != nil {
		return r.json
	}
	return combined
}
