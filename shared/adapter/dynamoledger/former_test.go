package dynamoledger

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// F107: DynamoDB deletes expired items days late. Until then the name of a claim of no pool is in use, so that whoever asks for it
// again must know of it; other claims that expired are dropped.
func TestF107NamesOfExpiredClaimsMadeByHandAreKnown(t *testing.T) {
	tab := &table{name: "t"}
	var ledger model.Ledger
	for _, claim := range []model.Claim{
		{Name: "mine", State: model.Gone, Version: 4, GoneUnix: 5},
		{Name: "pooled", Pool: "general", State: model.Gone, Version: 4, GoneUnix: 5},
	} {
		put, err := tab.putClaim("web", claim, nothingIsThere, 0)
		if err != nil {
			t.Fatal(err)
		}
		put.Item["ttl"] = number(6)
		if err := place(&ledger, put.Item, 1_000_000); err != nil {
			t.Fatal(err)
		}
	}
	if len(ledger.FormerClaims) != 1 || ledger.FormerClaims[0].Name != "mine" || ledger.FormerClaims[0].Version != 4 || len(ledger.Claims)+len(ledger.Ended) != 0 {
		t.Errorf("%+v", ledger)
	}
}
