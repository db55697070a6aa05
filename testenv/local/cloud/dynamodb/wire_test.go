package dynamodb_test

import (
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
)

// post sends one request as it stands on the wire and returns status, headers and document.
func post(t *testing.T, target, document string) (int, http.Header, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(document))
	r.Header.Set("X-Amz-Target", target)
	recorder := httptest.NewRecorder()
	dynamodb.NewHandler(dynamodb.NewModel(dynamodb.Options{})).ServeHTTP(recorder, r)
	response := recorder.Result()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(body)
}

func TestAnswersCarryTheirChecksumAndType(t *testing.T) {
	status, header, body := post(t, "DynamoDB_20120810.ListTables", "{}")
	if status != http.StatusOK || body != `{"TableNames":[]}` || header.Get("Content-Type") != "application/x-amz-json-1.0" {
		t.Errorf("got %d %s %s", status, header, body)
	}
	if want := strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10); header.Get("x-amz-crc32") != want {
		t.Errorf("checksum %s, want %s", header.Get("x-amz-crc32"), want)
	}
	if header.Get("x-amzn-RequestId") == "" {
		t.Error("no request id")
	}
}

func TestErrorsAreShapedLikeTheServices(t *testing.T) {
	const prefix = `"__type":"com.amazonaws.dynamodb.v20120810#`
	cases := []struct{ target, document, want string }{
		{"DynamoDB_20120810.Conjure", "{}", prefix + `UnknownOperationException"`},
		{"Other.GetItem", "{}", prefix + `UnknownOperationException"`},
		{"DynamoDB_20120810.GetItem", "{", prefix + `SerializationException"`},
		{"DynamoDB_20120810.GetItem", `{"TableName":5}`, prefix + `SerializationException"`},
		{"DynamoDB_20120810.GetItem", `{"TableName":"abc","Key":{"pk":{"S":5}}}`, prefix + `SerializationException"`},
		{"DynamoDB_20120810.GetItem", `{"TableName":"abc","Key":{"pk":{"X":"5"}}}`, prefix + `ValidationException"`},
		{"DynamoDB_20120810.GetItem", `{"TableName":"abc","Key":{"pk":{"S":"5"}}}`, prefix + `ResourceNotFoundException"`},
		{"DynamoDB_20120810.GetItem", ``, prefix + `ValidationException"`},
		{"DynamoDB_20120810.PutItem", `{"TableName":"abc"}`, `Value null at 'item' failed to satisfy constraint: Member must not be null`},
		{"DynamoDB_20120810.Scan", `{"TableName":"abc","Select":"SOME"}`, `Value 'SOME' at 'select' failed to satisfy constraint: Member must satisfy enum value set`},
		{"DynamoDB_20120810.Scan", `{"TableName":"abc","Limit":0}`, `Value '0' at 'limit' failed to satisfy constraint`},
	}
	for _, c := range cases {
		status, _, body := post(t, c.target, c.document)
		if status != http.StatusBadRequest || !strings.Contains(body, c.want) {
			t.Errorf("%s %s\n got %d %s\nwant 400 with %s", c.target, c.document, status, body, c.want)
		}
	}
}
