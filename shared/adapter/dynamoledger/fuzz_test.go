package dynamoledger

import (
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// FuzzPlace: whatever an item holds, it is part of the ledger or an error, and one that has expired is neither.
func FuzzPlace(f *testing.F) {
	f.Add("CLAIM#a", `{"name":"a","state":"Launched","requirements":[{"key":"a","operator":"In","values":["b"]}]}`, "Calling", "100")
	f.Add("INTENT#a", `{"id":"a","claims":["b"]}`, "Done", "0")
	f.Add("USE#general#cpu", `{}`, "", "-1")
	f.Add("MARK#a", `{"until":1}`, "", "9223372036854775808")
	f.Add("COMMAND#a", `{"id":"a","state":"Replacing","targets":[{"claim":"b"}]}`, "Replacing", "1")
	f.Add("TURN#general", `{}`, "", "3")
	f.Add("STOP#general", `{"scope":"pool","pool":"general"}`, "", "0")
	f.Add("SNAP", `{"baseKey":"a","headSeq":1}`, "", "1e3")
	f.Fuzz(func(t *testing.T, sk, doc, state, amount string) {
		bounds.Check(t, len(sk)+len(doc)+len(state)+len(amount), func() {
			entry := item{
				"PK": text("C#a#"), "SK": text(sk), "doc": text(doc), "state": text(state),
				"heartbeat": &types.AttributeValueMemberN{Value: amount}, "cpu": &types.AttributeValueMemberN{Value: amount},
				"nodes": text(amount), "claims": &types.AttributeValueMemberNULL{Value: true},
			}
			var ledger model.Ledger
			err := place(&ledger, entry, 10)
			if sk == manifestSK {
				setManifest(&ledger, "a", entry)
			}
			held := len(ledger.Claims) + len(ledger.Intents) + len(ledger.Usage) + len(ledger.UnavailableOfferings) + len(ledger.Commands) + len(ledger.BudgetVersions) + len(ledger.Stops)
			if ledger.Manifest != nil {
				held++
			}
			if held > 1 || err != nil && held > 0 {
				t.Errorf("one item is held %d times, together with %v", held, err)
			}
			entry["ttl"] = &types.AttributeValueMemberN{Value: strconv.Itoa(9)}
			ledger = model.Ledger{}
			if err := place(&ledger, entry, 10); err != nil || len(ledger.Claims)+len(ledger.Intents)+len(ledger.Usage)+len(ledger.UnavailableOfferings)+len(ledger.Commands)+len(ledger.BudgetVersions)+len(ledger.Stops) > 0 || ledger.Manifest != nil {
				t.Errorf("an expired item is held or read: %v, %+v", err, ledger)
			}
		})
	})
}
