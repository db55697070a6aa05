package dynamodb

import (
	"encoding/json"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// The types of this file are the documents of the wire; their members are those of the DynamoDB API reference.
// A nil pointer or map is a member that was not sent or is not answered.

// Expressions are the placeholders and the expressions most requests share.
type Expressions struct {
	ConditionExpression       *string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]attribute.Value
}

// Legacy are the parameters older than expressions. The model refuses them.
type Legacy struct {
	AttributesToGet, AttributeUpdates, ConditionalOperator, Expected json.RawMessage
	KeyConditions, QueryFilter, ScanFilter                           json.RawMessage
}

// Capacity is an amount of capacity units.
type Capacity struct {
	CapacityUnits      float64
	ReadCapacityUnits  *float64 `json:",omitempty"`
	WriteCapacityUnits *float64 `json:",omitempty"`
}

// ConsumedCapacity is what a request took from one table.
type ConsumedCapacity struct {
	TableName string
	Capacity
	Table                  *Capacity           `json:",omitempty"`
	LocalSecondaryIndexes  map[string]Capacity `json:",omitempty"`
	GlobalSecondaryIndexes map[string]Capacity `json:",omitempty"`
}

// PutItemInput asks PutItem.
type PutItemInput struct {
	TableName string
	Item      attribute.Item
	Expressions
	Legacy
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
	ReturnConsumedCapacity              string
}

// UpdateItemInput asks UpdateItem.
type UpdateItemInput struct {
	TableName        string
	Key              attribute.Item
	UpdateExpression *string
	Expressions
	Legacy
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
	ReturnConsumedCapacity              string
}

// DeleteItemInput asks DeleteItem.
type DeleteItemInput struct {
	TableName string
	Key       attribute.Item
	Expressions
	Legacy
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
	ReturnConsumedCapacity              string
}

// WriteOutput answers PutItem, UpdateItem and DeleteItem.
type WriteOutput struct {
	Attributes       attribute.Item    `json:",omitempty"`
	ConsumedCapacity *ConsumedCapacity `json:",omitempty"`
}

// GetItemInput asks GetItem.
type GetItemInput struct {
	TableName                string
	Key                      attribute.Item
	ConsistentRead           bool
	ProjectionExpression     *string
	ExpressionAttributeNames map[string]string
	Legacy
	ReturnConsumedCapacity string
}

// GetItemOutput answers GetItem; Item is nil when there is none.
type GetItemOutput struct {
	Item             attribute.Item    `json:",omitzero"`
	ConsumedCapacity *ConsumedCapacity `json:",omitempty"`
}

// PageInput is what Query and Scan have in common.
type PageInput struct {
	TableName                 string
	IndexName                 *string
	Select                    string
	Limit                     *int
	ConsistentRead            bool
	ExclusiveStartKey         attribute.Item
	FilterExpression          *string
	ProjectionExpression      *string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]attribute.Value
	Legacy
	ReturnConsumedCapacity string
}

// QueryInput asks Query.
type QueryInput struct {
	PageInput
	KeyConditionExpression *string
	ScanIndexForward       *bool
}

// ScanInput asks Scan.
type ScanInput struct {
	PageInput
	Segment, TotalSegments *int
}

// PageOutput answers Query and Scan. Items is nil, and not answered, when only the count was asked for.
type PageOutput struct {
	Items            []attribute.Item `json:",omitzero"`
	Count            int
	ScannedCount     int
	LastEvaluatedKey attribute.Item    `json:",omitempty"`
	ConsumedCapacity *ConsumedCapacity `json:",omitempty"`
}

// AppendDocument writes the answer as json.Marshal does, a page of a megabyte at once instead of value by value.
func (o *PageOutput) AppendDocument(to []byte) ([]byte, error) {
	rest := *o
	rest.Items = nil
	doc, err := json.Marshal(rest)
	if err != nil || o.Items == nil {
		return append(to, doc...), err
	}
	if to, err = attribute.AppendItems(append(to, `{"Items":`...), o.Items); err != nil {
		return nil, err
	}
	return append(append(to, ','), doc[1:]...), nil
}

// BatchGetItemInput asks BatchGetItem.
type BatchGetItemInput struct {
	RequestItems           map[string]KeysAndAttributes
	ReturnConsumedCapacity string
}

// KeysAndAttributes are the items asked of one table.
type KeysAndAttributes struct {
	Keys                     []attribute.Item
	ConsistentRead           bool              `json:",omitempty"`
	ProjectionExpression     *string           `json:",omitempty"`
	ExpressionAttributeNames map[string]string `json:",omitempty"`
	AttributesToGet          json.RawMessage   `json:",omitempty"`
}

// BatchGetItemOutput answers BatchGetItem.
type BatchGetItemOutput struct {
	Responses        map[string][]attribute.Item
	UnprocessedKeys  map[string]KeysAndAttributes
	ConsumedCapacity []*ConsumedCapacity `json:",omitempty"`
}

// BatchWriteItemInput asks BatchWriteItem.
type BatchWriteItemInput struct {
	RequestItems           map[string][]WriteRequest
	ReturnConsumedCapacity string
}

// WriteRequest is one write of a batch: exactly one of both.
type WriteRequest struct {
	PutRequest    *BatchPut    `json:",omitempty"`
	DeleteRequest *BatchDelete `json:",omitempty"`
}

// BatchPut puts an item.
type BatchPut struct{ Item attribute.Item }

// BatchDelete deletes the item with this key.
type BatchDelete struct{ Key attribute.Item }

// BatchWriteItemOutput answers BatchWriteItem.
type BatchWriteItemOutput struct {
	UnprocessedItems map[string][]WriteRequest
	ConsumedCapacity []*ConsumedCapacity `json:",omitempty"`
}

// TransactWriteItemsInput asks TransactWriteItems.
type TransactWriteItemsInput struct {
	TransactItems          []TransactWriteItem
	ClientRequestToken     string
	ReturnConsumedCapacity string
}

// TransactWriteItem is one action of a transaction: exactly one of the four.
type TransactWriteItem struct {
	ConditionCheck *TransactAction `json:",omitempty"`
	Put            *TransactAction `json:",omitempty"`
	Update         *TransactAction `json:",omitempty"`
	Delete         *TransactAction `json:",omitempty"`
}

// TransactAction is the content of an action: Item for Put, Key for the others, UpdateExpression for Update.
type TransactAction struct {
	TableName        string
	Item             attribute.Item `json:",omitempty"`
	Key              attribute.Item `json:",omitempty"`
	UpdateExpression *string        `json:",omitempty"`
	Expressions
	ReturnValuesOnConditionCheckFailure string `json:",omitempty"`
}

// TransactWriteItemsOutput answers TransactWriteItems.
type TransactWriteItemsOutput struct {
	ConsumedCapacity []*ConsumedCapacity `json:",omitempty"`
}

// CancellationReason says what one action of a canceled transaction had to do with it; Code is None, without
// message, for those that did nothing.
type CancellationReason struct {
	Code    string
	Message string         `json:",omitempty"`
	Item    attribute.Item `json:",omitempty"`
}

// TransactGetItemsInput asks TransactGetItems.
type TransactGetItemsInput struct {
	TransactItems          []TransactGetItem
	ReturnConsumedCapacity string
}

// TransactGetItem asks one item.
type TransactGetItem struct {
	Get *TransactGet
}

// TransactGet names the item and the parts wanted.
type TransactGet struct {
	TableName                string
	Key                      attribute.Item
	ProjectionExpression     *string
	ExpressionAttributeNames map[string]string
}

// TransactGetItemsOutput answers TransactGetItems, in the order asked.
type TransactGetItemsOutput struct {
	Responses        []GetItemOutput
	ConsumedCapacity []*ConsumedCapacity `json:",omitempty"`
}
