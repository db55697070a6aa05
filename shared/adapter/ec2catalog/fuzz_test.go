package ec2catalog

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// FuzzProduct: an entry of the price list is a price above zero and below a million, or none.
func FuzzProduct(f *testing.F) {
	f.Add("us-east-1", `{"product":{"attributes":{"instanceType":"m5.large"}},"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"pricePerUnit":{"USD":"0.0960000000"}}}}}}}`)
	f.Add("cn-north-1", `{"product":{"attributes":{"instanceType":"m5.large"}},"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"pricePerUnit":{"CNY":"NaN"}}},"c":null}}}}`)
	f.Add("", `{"terms":{"OnDemand":{"a":{"priceDimensions":{"b":{"pricePerUnit":{"USD":"1e999"}}}}}}}`)
	f.Fuzz(func(t *testing.T, region, entry string) {
		bounds.Check(t, len(entry), func() {
			c := New(Clients{}, Settings{Region: region})
			name, price, ok := c.product(entry)
			if ok && (name == "" || price <= 0 || price > 1e12) {
				t.Errorf("%s costs %d", name, price)
			}
		})
	})
}
