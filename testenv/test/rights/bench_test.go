package rights

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/rights"
)

// BenchmarkDecide is what the front door pays for each thing a request asks for: by the longest policy that ships.
func BenchmarkDecide(b *testing.B) {
	book := access.NewBook(account, region, time.Now)
	env := environment("joiner-cluster-" + demo)
	stack, err := rights.Open(templates+"cluster.json", env)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := rights.Add(book, stack, nil); err != nil {
		b.Fatal(err)
	}
	who, asked := policy.Role(ofCluster("catalog")), wire.Access{Action: "ec2:RunInstances", Resource: ec2("instance/*"), Context: launch}
	for b.Loop() {
		if !book.Decide(who, asked).Allowed() {
			b.Fatal("refused")
		}
	}
}
