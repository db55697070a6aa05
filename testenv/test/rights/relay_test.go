package rights

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/rights"
)

// Relay mode: who may ask the watcher, and who may keep and read its answers.
func TestPolicyTableOfRelayMode(t *testing.T) {
	book := newBook()
	region := open(t, "region.json", demo, environment("joiner"))
	exports, err := region.ExportValues()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rights.Add(book, region, nil); err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []string{demo, "other"} {
		env := environment("joiner-cluster-" + cluster)
		env.Exports = exports
		if _, err := rights.Add(book, open(t, "cluster-relay.json", cluster, env), nil); err != nil {
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
			attack(neighbor, program+" asks another cluster", ofCluster(program), "sqs:SendMessage", others, nil),
		)
	}
	for _, r := range rows {
		got := book.Decide(principal(r.who), wire.Access{Action: r.action, Resource: r.on, Context: r.keys})
		if got.Allowed() != r.allow {
			t.Errorf("%s/%s: %s on %s by %s: %v, want allowed = %v", r.threat, r.name, r.action, r.on, r.who, got, r.allow)
		}
	}
}

// A14: with a provider of the cluster's, the watcher's role is for tokens of the watcher's service account and for nobody else.
func TestA14TheWatchersRoleIsForItsServiceAccount(t *testing.T) {
	boundary, err := policy.Parse([]byte(`{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}`), policy.Identity)
	if err != nil {
		t.Fatal(err)
	}
	book := newBook()
	if _, err := rights.Add(book, open(t, "cluster-hardened.json", demo, environment("joiner-cluster-joiner-demo")), rights.Boundaries{"arn:aws:iam::111111111111:policy/boundary": boundary}); err != nil {
		t.Fatal(err)
	}
	const provider = "oidc.eks.us-west-2.amazonaws.com/id/EXAMPLE"
	token := keys(provider+":aud", "sts.amazonaws.com", provider+":sub", "system:serviceaccount:joiner:joiner-watcher")
	theirs := policy.Principal{Provider: "arn:aws:iam::111111111111:oidc-provider/" + provider}
	for name, ask := range map[string]struct {
		who   policy.Principal
		keys  map[string][]string
		allow bool
	}{
		"the watcher":                      {theirs, token, true},
		"another service account":          {theirs, with(token, provider+":sub", "system:serviceaccount:joiner:default"), false},
		"that name in another namespace":   {theirs, with(token, provider+":sub", "system:serviceaccount:shop:joiner-watcher"), false},
		"a token for somebody else":        {theirs, with(token, provider+":aud", "vault"), false},
		"a token of which nothing is said": {theirs, nil, false},
		"another cluster's provider":       {policy.Principal{Provider: "arn:aws:iam::111111111111:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/OTHER"}, token, false},
		"the service of Pod Identity":      {policy.Service("pods.eks.amazonaws.com"), token, false},
	} {
		got := book.Decide(ask.who, wire.Access{Action: "sts:AssumeRoleWithWebIdentity", Resource: ofCluster("watcher"), Context: ask.keys})
		if got.Allowed() != ask.allow {
			t.Errorf("%s: %v, want allowed = %v", name, got, ask.allow)
		}
	}
}
