package installation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// scanFile is the name of the file with a table's items in a folder that is read instead of an installation.
const scanFile = "ledger.json"

// clientOfScan returns a client that has the items of a file, as "aws dynamodb scan" writes them, as those of any
// table, and whose clock stands at now. It gets items and queries partitions by PK and what SK begins with or is below,
// and nothing else.
func clientOfScan(path string, now time.Time) (*dynamodb.Client, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var scan struct {
		Items     []scanned
		NextToken *string
	}
	if err := json.Unmarshal(data, &scan); err != nil {
		return nil, fmt.Errorf("%s is not what \"aws dynamodb scan --output json\" writes: %w", path, err)
	}
	if scan.Items == nil {
		return nil, fmt.Errorf("%s has no Items: write it with \"aws dynamodb scan --table-name joiner --output json\"",
			path)
	}
	if scan.NextToken != nil {
		return nil, fmt.Errorf("%s is a part of the table: write it without --max-items", path)
	}
	items := scanItems{now: now, partitions: map[string][]scanned{}}
	for _, item := range scan.Items {
		pk := item.text("PK")
		items.partitions[pk] = append(items.partitions[pk], item)
	}
	for _, of := range items.partitions {
		slices.SortFunc(of, func(a, b scanned) int { return cmp.Compare(a.text("SK"), b.text("SK")) })
	}
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", HTTPClient: items, Credentials: credentials.NewStaticCredentialsProvider("none", "none",
			""),
		BaseEndpoint: aws.String("http://files.invalid"), RetryMaxAttempts: 1,
	}), nil
}

// scanned is an item in DynamoDB's JSON.
type scanned map[string]json.RawMessage

// text returns a string attribute; empty where it is missing or none.
func (s scanned) text(name string) string {
	var value struct{ S string }
	_ = json.Unmarshal(s[name], &value)
	return value.S
}

type scanItems struct {
	now        time.Time
	partitions map[string][]scanned // by PK, in the order of SK
}

func (s scanItems) Do(request *http.Request) (*http.Response, error) {
	var asked struct {
		Key                       scanned
		KeyConditionExpression    string
		FilterExpression          string
		IndexName                 string
		ExpressionAttributeValues scanned
	}
	if err := json.NewDecoder(request.Body).Decode(&asked); err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	answer, status := any(nil), http.StatusOK
	switch values := asked.ExpressionAttributeValues; {
	case operation == "GetItem":
		answer = s.get(asked.Key.text("PK"), asked.Key.text("SK"))
	case operation == "Query" && asked.IndexName+asked.FilterExpression == "" &&
		sortKeys[asked.KeyConditionExpression] != nil:
		answer = s.query(values.text(":pk"), values.text(":sk"), sortKeys[asked.KeyConditionExpression])
	default:
		status, answer = http.StatusBadRequest, map[string]string{
			"__type": "ValidationException", "message": "files do not support " + operation + " " +
				asked.KeyConditionExpression,
		}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "Date": {s.now.UTC().Format(http.TimeFormat)}}
	return answered(request, status, header, body), nil
}

func (s scanItems) get(pk, sk string) map[string]any {
	for _, item := range s.partitions[pk] {
		if item.text("SK") == sk {
			return map[string]any{"Item": item}
		}
	}
	return map[string]any{}
}

// sortKeys says for each condition that the ledger asks by whether a sort key meets it.
var sortKeys = map[string]func(key, asked string) bool{
	"PK = :pk":                          func(string, string) bool { return true },
	"PK = :pk AND begins_with(SK, :sk)": strings.HasPrefix,
	"PK = :pk AND SK = :sk":             func(key, asked string) bool { return key == asked },
	"PK = :pk AND SK < :sk":             func(key, asked string) bool { return key < asked },
}

func (s scanItems) query(pk, asked string, meets func(key, asked string) bool) map[string]any {
	found := []scanned{}
	for _, item := range s.partitions[pk] {
		if meets(item.text("SK"), asked) {
			found = append(found, item)
		}
	}
	return map[string]any{"Items": found, "Count": len(found), "ScannedCount": len(found)}
}
