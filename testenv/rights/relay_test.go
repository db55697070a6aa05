package rights

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/cloud/wire"
)

// Relay mode: who may ask the watcher, and who may keep and read its answers.
func TestPolicyTableOfRelayMode(t *testing.T) {
	book := newBook()
	region := open(t, "region.json", demo, environment("joiner"))
	exports, err := region.ExportValues()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Add(book, region, nil); err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []string{demo, "other"} {
		env := environment("joiner-cluster-" + cluster)
		env.Exports = exports
		if _, err := Add(book, open(t, "cluster-relay.json", cluster, env), nil); err != nil {
			t.Fatal(err)
		}
	}
	w, own, others := ofCluster("watcher"), queue("joiner-relay-"+demo), queue("joiner-relay-other")
	answers, otherAnswers := keys("dynamodb:LeadingKeys", "C#joiner-demo#R#0"), keys("dynamodb:LeadingKeys", "C#other#R#0")
	rows := []row{
		work("receives requests", w, "sqs:ReceiveMessage", own, nil),
		work("removes them", w, "sqs:DeleteMessage", own, nil),
		work("returns them", w, "sqs:ChangeMessageVisibility", own, nil),
		work("keeps answers", w, "dynamodb:PutItem", ledger, answers),
		work("keeps large answers", w, "s3:PutObject", object("relay/joiner-demo/0/1"), nil),
		attack(watcher, "receives another cluster's requests", w, "sqs:ReceiveMessage", others, nil),
		attack(watcher, "asks itself in a function's name", w, "sqs:SendMessage", own, nil),
		attack(watcher, "answers for another cluster", w, "dynamodb:PutItem", ledger, otherAnswers),
		attack(watcher, "answers at length for another cluster", w, "s3:PutObject", object("relay/other/0/1"), nil),
		attack(watcher, "writes claims as if they were answers", w, "dynamodb:PutItem", ledger, keys("dynamodb:LeadingKeys", "C#joiner-demo#N#0")),
		attack(watcher, "reads large answers", w, "s3:GetObject", object("relay/joiner-demo/0/1"), nil),
	}
	for _, program := range []string{"provision", "interruption", "catalog", "disrupt"} {
		rows = append(rows,
			work(program+" asks", ofCluster(program), "sqs:SendMessage", own, nil),
			work(program+" finds answers", ofFunction(program), "dynamodb:BatchGetItem", ledger, answers),
			work(program+" reads large answers", ofFunction(program), "s3:GetObject", object("relay/joiner-demo/0/1"), nil),
			attack(function, program+" takes requests away", ofCluster(program), "sqs:ReceiveMessage", own, nil),
			attack(function, program+" asks with its own role, which no watcher knows", ofFunction(program), "sqs:SendMessage", own, nil),
			attack(function, program+" answers at length", ofFunction(program), "s3:PutObject", object("relay/joiner-demo/0/1"), nil),
			attack(neighbour, program+" asks another cluster", ofCluster(program), "sqs:SendMessage", others, nil),
		)
	}
	for _, r := range rows {
		got := book.Decide(principal(r.who), wire.Access{Action: r.action, Resource: r.on, Context: r.keys})
		if got.Allowed() != r.allow {
			t.Errorf("%s/%s: %s on %s by %s: %v, want allowed = %v", r.threat, r.name, r.action, r.on, r.who, got, r.allow)
		}
	}
	if book.Decide(policy.Role(ofCluster("adopt")), wire.Access{Action: "sqs:SendMessage", Resource: own}).Allowed() {
		t.Error("people who adopt may ask the watcher")
	}
}
