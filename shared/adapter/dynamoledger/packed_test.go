package dynamoledger

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// fullClaim is a claim of a node with so many pods.
func fullClaim(pods int) model.Claim {
	claim := model.Claim{
		Name: "default-7k2px", Pool: "default", PoolUID: "8b0a8d9e-2f7b-4d26-9a51-5d4f3a1b2c3d", Class: "default", State: model.Initialized, Version: 6,
		Intent: "01M82CMVF80000000000000000", InstanceTypes: []string{"m5.xlarge", "m6g.xlarge"}, InstanceID: "i-006c45d188009454f", InstanceType: "m5.xlarge",
		Zone: "us-west-2b", CapacityType: model.Spot, NodeName: "ip-10-0-0-1.us-west-2.compute.internal", Labels: map[string]string{},
	}
	for _, label := range strings.Fields("category cpu cpu-manufacturer ebs-bandwidth family generation hypervisor memory network-bandwidth size") {
		claim.Labels["karpenter.k8s.aws/instance-"+label] = "value-" + label
	}
	for i := range pods {
		claim.Pods = append(claim.Pods, model.PodRef{Namespace: "default", Name: fmt.Sprintf("web-5d4f9c7b8-%05d", i*7919), UID: fmt.Sprintf("%08x-5d4f-4d26-9a51-%012x", i*2654435761, i*40503)})
	}
	return claim
}

func TestClaimsArePackedToLessThanHalfAndPlainOnesAreRead(t *testing.T) {
	claim := fullClaim(20)
	entry := key("C#a#", "CLAIM#a")
	if err := encodePacked(entry, "claim", claim); err != nil {
		t.Fatal(err)
	}
	plain, err := encode("claim", claim)
	if err != nil {
		t.Fatal(err)
	}
	packed, large := entry["packed"].(*types.AttributeValueMemberB), plain.(*types.AttributeValueMemberS)
	if len(packed.Value)*2 > len(large.Value) || entry["doc"] != nil {
		t.Errorf("%d bytes, of %d", len(packed.Value), len(large.Value))
	}
	var group sync.WaitGroup
	for _, each := range []item{entry, {"doc": plain}, entry, {"doc": plain}} { // side by side, as partitions are read
		group.Go(func() {
			for range 100 {
				var got model.Claim
				if err := decodePacked(each, &got); err != nil || !reflect.DeepEqual(got, claim) {
					t.Errorf("%v; %+v", err, got)
					return
				}
			}
		})
	}
	group.Wait()

	packed.Value = packed.Value[:len(packed.Value)/2]
	var broken model.Claim
	if err := decodePacked(entry, &broken); err == nil {
		t.Error("half of a packed value is no error")
	}
	small := key("C#a#", "CLAIM#b")
	if err := encodePacked(small, "claim", model.Claim{Name: "b"}); err != nil || small["doc"] == nil || small["packed"] != nil {
		t.Errorf("a small value is packed: %v, %v", small, err)
	}
}

func BenchmarkClaim(b *testing.B) {
	claim := fullClaim(20)
	plain, err := encode("claim", claim)
	if err != nil {
		b.Fatal(err)
	}
	packed := item{}
	if err := encodePacked(packed, "claim", claim); err != nil {
		b.Fatal(err)
	}
	for name, entry := range map[string]item{"plain": {"doc": plain}, "packed": packed} {
		b.Run("decode "+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var got model.Claim
				if err := decodePacked(entry, &got); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
