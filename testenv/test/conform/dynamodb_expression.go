package conform

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// refusesUpdate is a case of an update expression that no item makes valid.
func (l *dynamoLedger) refusesUpdate(name, expression, message string) Case {
	return Case{name, func(t T) {
		_, err := l.update(t, dynamoKey(Unique("p"), "a", "v", dynamoNumber("1")), expression,
			dynamoItem{":one": dynamoNumber("1"), ":s": dynamoString("s")})
		wantInvalid(t, err, message)
	}}
}

// condition reports whether an item satisfies a condition, by an update that depends on it.
func (l *dynamoLedger) condition(t T, it dynamoItem, condition string, values dynamoItem) bool {
	t.Helper()
	l.put(t, it)
	_, err := l.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: &l.table, Key: dynamoKey(dynamoText(it, "pk"), dynamoText(it, "sk")),
		ConditionExpression: &condition, ExpressionAttributeValues: values,
	})
	if err != nil {
		wantCode(t, err, "ConditionalCheckFailedException")
	}
	return err == nil
}

func (l *dynamoLedger) expressionCases() []Case {
	list := func(values ...string) types.AttributeValue {
		l := &types.AttributeValueMemberL{}
		for _, v := range values {
			l.Value = append(l.Value, dynamoString(v))
		}
		return l
	}
	return []Case{
		{"an update adds, defaults, appends, removes and deletes at once", func(t T) {
			before := dynamoKey(Unique("p"), "a", "v", dynamoNumber("1"), "old", dynamoString("x"), "list", list("a"), "tags", &types.AttributeValueMemberSS{Value: []string{"a", "b"}})
			l.put(t, before)
			out, err := l.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: &l.table, Key: dynamoKey(dynamoText(before, "pk"), "a"), ReturnValues: types.ReturnValueAllNew,
				UpdateExpression:          aws.String("SET v = v + :n, w = if_not_exists(w, :n), #l = list_append(#l, :l) REMOVE #o DELETE tags :b"),
				ExpressionAttributeNames:  map[string]string{"#l": "list", "#o": "old"},
				ExpressionAttributeValues: dynamoItem{":n": dynamoNumber("2"), ":l": list("b"), ":b": &types.AttributeValueMemberSS{Value: []string{"b"}}},
			})
			if err != nil {
				t.Fatalf("update: %v", err)
			}
			it := out.Attributes
			items, _ := it["list"].(*types.AttributeValueMemberL)
			tags, _ := it["tags"].(*types.AttributeValueMemberSS)
			if dynamoText(it, "v") != "3" || dynamoText(it, "w") != "2" || it["old"] != nil || items == nil || len(items.Value) != 2 || tags == nil || len(tags.Value) != 1 {
				t.Errorf("updated to %v", it)
			}
		}},
		{"a set that loses its last member goes", func(t T) {
			set := &types.AttributeValueMemberSS{Value: []string{"a"}}
			got, err := l.update(t, dynamoKey(Unique("p"), "a", "tags", set), "DELETE tags :t", dynamoItem{":t": set})
			if err != nil || got["tags"] != nil {
				t.Errorf("left %v, %v", got, err)
			}
		}},
		{"a nested path is updated only where its parent is", func(t T) {
			nested := &types.AttributeValueMemberM{Value: dynamoItem{"x": dynamoNumber("1")}}
			got, err := l.update(t, dynamoKey(Unique("p"), "a", "m", nested), "SET m.y = m.x + :one", dynamoItem{":one": dynamoNumber("1")})
			if m, _ := got["m"].(*types.AttributeValueMemberM); err != nil || m == nil || dynamoText(m.Value, "y") != "2" {
				t.Errorf("updated to %v, %v", got, err)
			}
			_, err = l.update(t, dynamoKey(Unique("p"), "a"), "SET m.y = :one", dynamoItem{":one": dynamoNumber("1")})
			wantInvalid(t, err, "The document path provided in the update expression is invalid for update")
		}},
		{"an element set beyond the end of a list is appended", func(t T) {
			got, err := l.update(t, dynamoKey(Unique("p"), "a", "l", list("a")), "SET l[7] = :s", dynamoItem{":s": dynamoString("b")})
			if items, _ := got["l"].(*types.AttributeValueMemberL); err != nil || items == nil || len(items.Value) != 2 {
				t.Errorf("updated to %v, %v", got, err)
			}
		}},
		{"indexes of removed elements mean the list as it was", func(t T) {
			got, err := l.update(t, dynamoKey(Unique("p"), "a", "l", list("a", "b", "c")), "REMOVE l[0], l[1]", nil)
			items, _ := got["l"].(*types.AttributeValueMemberL)
			if err != nil || items == nil || len(items.Value) != 1 || dynamoText(dynamoItem{"x": items.Value[0]}, "x") != "c" {
				t.Errorf("updated to %v, %v", got, err)
			}
		}},
		{"an absent attribute equals nothing and differs from all", func(t T) {
			p, v := Unique("p"), dynamoItem{":v": dynamoNumber("1")}
			if l.condition(t, dynamoKey(p, "a"), "gone = :v", v) || !l.condition(t, dynamoKey(p, "b"), "gone <> :v", v) || l.condition(t, dynamoKey(p, "c"), "gone < :v", v) {
				t.Errorf("an absent attribute compares otherwise")
			}
		}},
		{"AND binds tighter than OR and NOT tighter than both", func(t T) {
			p, v := Unique("p"), dynamoItem{":one": dynamoNumber("1"), ":two": dynamoNumber("2")}
			it := func(sk string) dynamoItem { return dynamoKey(p, sk, "v", dynamoNumber("1")) }
			if !l.condition(t, it("a"), "v = :one OR v = :one AND v = :two", v) {
				t.Errorf("OR binds tighter than AND")
			}
			if l.condition(t, it("b"), "(v = :one OR v = :one) AND v = :two", v) {
				t.Errorf("parentheses do not bind")
			}
			if !l.condition(t, it("c"), "NOT v = :two AND v = :one", v) {
				t.Errorf("NOT does not bind tightest")
			}
		}},
		{"numbers compare by value and keep 38 digits", func(t T) {
			p, digits := Unique("p"), "12345678901234567890123456789012345678"
			got, err := l.update(t, dynamoKey(p, "a", "v", dynamoNumber("1.50")), "SET w = :w", dynamoItem{":w": dynamoNumber(digits)})
			if err != nil || dynamoText(got, "w") != digits || dynamoText(got, "v") != "1.5" {
				t.Errorf("stored %v, %v", got, err)
			}
			if !l.condition(t, dynamoKey(p, "b", "v", dynamoNumber("10")), "v > :nine AND v = :ten", dynamoItem{":nine": dynamoNumber("9"), ":ten": dynamoNumber("1e1")}) {
				t.Errorf("numbers compare as text")
			}
			_, err = l.update(t, dynamoKey(p, "c"), "SET w = :w", dynamoItem{":w": dynamoNumber(digits + "9")})
			wantInvalid(t, err, "Attempting to store more than 38 significant digits in a Number")
		}},
		{"an unused placeholder value is refused", func(t T) {
			_, err := l.update(t, dynamoKey(Unique("p"), "a"), "SET v = :used", dynamoItem{":used": dynamoNumber("1"), ":spare": dynamoNumber("2")})
			wantInvalid(t, err, "Value provided in ExpressionAttributeValues unused in expressions: keys: {:spare}")
		}},
		{"an attribute that is not there cannot be read", func(t T) {
			_, err := l.update(t, dynamoKey(Unique("p"), "a"), "SET v = gone", nil)
			wantInvalid(t, err, "The provided expression refers to an attribute that does not exist in the item")
		}},
		{"arithmetic on text is refused", func(t T) {
			_, err := l.update(t, dynamoKey(Unique("p"), "a", "v", dynamoString("x")), "SET v = v + :one", dynamoItem{":one": dynamoNumber("1")})
			wantInvalid(t, err, "An operand in the update expression has an incorrect data type")
		}},
		l.refusesUpdate("a reserved word is refused", "SET status = :one, w = :s", "Invalid UpdateExpression: Attribute name is a reserved keyword; reserved keyword: status"),
		l.refusesUpdate("a syntax error names its token", "SET v = = :one, w = :s", `Invalid UpdateExpression: Syntax error; token: "=", near: "= = :one"`),
		l.refusesUpdate("overlapping paths are refused", "SET v = :one, v = :s", "Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [v], path two: [v]"),
		l.refusesUpdate("a section stands once", "SET v = :one SET w = :s", `Invalid UpdateExpression: The "SET" section can only be used once in an update expression;`),
		l.refusesUpdate("ADD of text is refused", "ADD w :s SET v = :one", "Invalid UpdateExpression: Incorrect operand type for operator or function; operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND"),
		l.refusesUpdate("an unknown function is refused", "SET v = twice(:one), w = :s", "Invalid UpdateExpression: Invalid function name; function: twice"),
	}
}
