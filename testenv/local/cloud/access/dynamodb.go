package access

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// attributes are named values as DynamoDB writes them.
type attributes map[string]map[string]any

// text returns a string, number or binary as a condition sees it; "" when there is none of the name.
func (a attributes) text(name string) (string, bool) {
	for _, value := range a[name] {
		s, ok := value.(string)
		return s, ok
	}
	return "", false
}

// operation is what item operations have in common.
type operation struct {
	TableName, IndexName      string
	Key, Item                 attributes
	Select, ReturnValues      string
	KeyConditionExpression    string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues attributes
}

type dynamoRequest struct {
	operation
	ResourceArn   string
	TransactItems []map[string]operation // by Put, Update, Delete, ConditionCheck or Get
	RequestItems  json.RawMessage
}

// inTransactions are the IAM actions of a transaction's parts.
var inTransactions = map[string]string{
	"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem", "Get": "GetItem",
}

var (
	itemActions  = []string{"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan"}
	tableActions = []string{
		"CreateTable", "DeleteTable", "DescribeContinuousBackups", "DescribeTable", "DescribeTimeToLive", "UpdateContinuousBackups",
		"UpdateTable", "UpdateTimeToLive",
	}
)

func (b asker) ofDynamoDB(r Request) ([]wire.Access, error) {
	var in dynamoRequest
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return nil, fmt.Errorf("read request of DynamoDB: %w", err)
	}
	switch {
	case slices.Contains(itemActions, r.Action):
		return b.ofOperation(r.Action, "", in.operation)
	case slices.Contains(tableActions, r.Action):
		return one("dynamodb:"+r.Action, b.table(in.TableName)), nil
	case r.Action == "TransactWriteItems" || r.Action == "TransactGetItems":
		var out []wire.Access
		for _, parts := range in.TransactItems {
			for part, o := range parts {
				accesses, err := b.ofOperation(inTransactions[part], r.Action, o)
				if err != nil {
					return nil, err
				}
				out = append(out, accesses...)
			}
		}
		return out, nil
	case r.Action == "BatchGetItem" || r.Action == "BatchWriteItem":
		return b.ofBatch(r.Action, in.RequestItems)
	case r.Action == "ListTables" || r.Action == "DescribeLimits" || r.Action == "DescribeEndpoints":
		return one("dynamodb:"+r.Action, "*"), nil
	}
	return nil, nil
}

// table returns the ARN of a table, which requests name by name or by ARN.
func (b asker) table(name string) string {
	if strings.HasPrefix(name, "arn:") {
		return name
	}
	return b.arn("dynamodb", b.Account, "table/"+name)
}

// ofOperation returns what one operation asks for. Its leading key is that of the item, and of a query the value its key condition
// compares with; a scan has none. A write that returns nothing has dynamodb:ReturnValues all the same.
func (b asker) ofOperation(action, enclosing string, o operation) ([]wire.Access, error) {
	a := wire.Access{Action: "dynamodb:" + action, Resource: b.table(o.TableName), Context: map[string][]string{}}
	name := o.TableName[strings.LastIndex(o.TableName, "/")+1:]
	if o.IndexName != "" {
		a.Resource += "/index/" + o.IndexName
		name += "/" + o.IndexName
	}
	attribute := b.tableKey(name)
	key, ok := o.Key.text(attribute)
	if !ok {
		key, ok = o.Item.text(attribute)
	}
	if action == "Query" {
		key, ok = o.queried(attribute)
	}
	switch {
	case ok:
		a.Context["dynamodb:leadingkeys"] = []string{key}
	case action != "Scan":
		return nil, fmt.Errorf("%s of table %s: its partition key %q is not in the request", action, name, attribute)
	}
	if enclosing != "" {
		a.Context["dynamodb:enclosingoperation"] = []string{enclosing}
	}
	if o.Select != "" {
		a.Context["dynamodb:select"] = []string{o.Select}
	}
	if o.ReturnValues != "" {
		a.Context["dynamodb:returnvalues"] = []string{o.ReturnValues}
	}
	return []wire.Access{a}, nil
}

var equality = regexp.MustCompile(`([#\w.]+)\s*=\s*(:\w+)`)

// queried returns the value a query's key condition compares the partition key with.
func (o operation) queried(attribute string) (string, bool) {
	for _, m := range equality.FindAllStringSubmatch(o.KeyConditionExpression, -1) {
		name := m[1]
		if real, ok := o.ExpressionAttributeNames[name]; ok {
			name = real
		}
		if name == attribute {
			return o.ExpressionAttributeValues.text(m[2])
		}
	}
	return "", false
}

// ofBatch returns one access for each table, with all its leading keys.
func (b asker) ofBatch(action string, items json.RawMessage) ([]wire.Access, error) {
	gets, writes := map[string]struct{ Keys []attributes }{}, map[string][]struct {
		PutRequest    *struct{ Item attributes }
		DeleteRequest *struct{ Key attributes }
	}{}
	var err error
	if action == "BatchGetItem" {
		err = json.Unmarshal(items, &gets)
	} else {
		err = json.Unmarshal(items, &writes)
	}
	if err != nil {
		return nil, fmt.Errorf("read request of DynamoDB: %w", err)
	}
	keys := map[string][]string{}
	add := func(table string, a attributes) {
		if key, ok := a.text(b.tableKey(table[strings.LastIndex(table, "/")+1:])); ok {
			keys[table] = append(keys[table], key)
		}
	}
	for table, g := range gets {
		for _, key := range g.Keys {
			add(table, key)
		}
	}
	for table, list := range writes {
		for _, w := range list {
			if w.PutRequest != nil {
				add(table, w.PutRequest.Item)
			} else if w.DeleteRequest != nil {
				add(table, w.DeleteRequest.Key)
			}
		}
	}
	var out []wire.Access
	for table, values := range keys {
		out = append(out, wire.Access{Action: "dynamodb:" + action, Resource: b.table(table), Context: map[string][]string{"dynamodb:leadingkeys": values}})
	}
	return out, nil
}
