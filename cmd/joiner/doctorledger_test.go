package main

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/shared/model"
)

// F3, F5: the doctor names an item that cannot be read, the cause and what to do about it, and usage that is not what claims hold.
func TestF3DoctorNamesItemsOfTheLedgerThatCannotBeRead(t *testing.T) {
	a := newAccount(t)
	if code, _, errs := joiner("", "attach", "shop"); code != 0 {
		t.Fatalf("attach: %s", errs)
	}
	word := func(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }
	client, bad := dynamodb.NewFromConfig(a.Config()), map[string]types.AttributeValue{"PK": word("C#shop#N#0"), "SK": word("CLAIM#bad")}
	put := func(more map[string]types.AttributeValue) {
		t.Helper()
		for name, value := range bad {
			if more[name] == nil {
				more[name] = value
			}
		}
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("joiner"), Item: more}); err != nil {
			t.Fatal(err)
		}
	}
	if _, problems := a.doctor(t); problems["ledger items"].Seen != "" {
		t.Errorf("before: %+v", problems["ledger items"])
	}
	put(map[string]types.AttributeValue{"doc": word("{"), "state": word("Gone")})
	_, problems := a.doctor(t)
	if got := problems["ledger items"]; got.Level != check.Fail || !strings.Contains(got.Seen, "C#shop#N#0 CLAIM#bad") || !strings.Contains(got.Seen, "unexpected end of JSON input") || !strings.Contains(got.Do, "delete it") {
		t.Errorf("%+v", got)
	}
	if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("joiner"), Key: bad}); err != nil {
		t.Fatal(err)
	}
	put(map[string]types.AttributeValue{
		"PK": word("C#shop#"), "SK": word("USE#default"), "v": &types.AttributeValueMemberN{Value: "3"}, "r:" + model.Nodes: &types.AttributeValueMemberN{Value: "2"},
	})
	_, problems = a.doctor(t)
	if got := problems["ledger items"]; got.Level != check.Warn || !strings.Contains(got.Object, "default") || !strings.Contains(got.Seen, "2") {
		t.Errorf("%+v", got)
	}
}
