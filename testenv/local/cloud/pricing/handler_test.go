package pricing_test

import (
	"encoding/json"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/pricing"
)

func serve(t *testing.T) *sdk.Client {
	t.Helper()
	server := httptest.NewServer(pricing.NewHandler(pricing.New(pricing.Options{})))
	t.Cleanup(server.Close)
	return sdk.New(sdk.Options{Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
}

// priceList is as much of a document as a reader of prices needs.
type priceList struct {
	Product struct {
		ProductFamily string
		Attributes    map[string]string
	}
	Terms struct {
		OnDemand map[string]struct {
			PriceDimensions map[string]struct {
				Unit         string
				PricePerUnit map[string]string
			}
		}
	}
}

func filters(pairs ...string) []types.Filter {
	var out []types.Filter
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, types.Filter{Type: types.FilterTypeTermMatch, Field: &pairs[i], Value: &pairs[i+1]})
	}
	return out
}

// prices returns the dollars per hour of every type the filters let through.
func prices(t *testing.T, c *sdk.Client, f []types.Filter) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	pages := sdk.NewGetProductsPaginator(c, &sdk.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: f})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range page.PriceList {
			var doc priceList
			if err := json.Unmarshal([]byte(text), &doc); err != nil {
				t.Fatal(err)
			}
			name := doc.Product.Attributes["instanceType"]
			if _, twice := out[name]; twice {
				t.Errorf("%s is listed twice", name)
			}
			for _, term := range doc.Terms.OnDemand {
				for _, d := range term.PriceDimensions {
					if out[name], err = strconv.ParseFloat(d.PricePerUnit["USD"], 64); err != nil || d.Unit != "Hrs" {
						t.Errorf("%s: %v per %s, %v", name, d.PricePerUnit, d.Unit, err)
					}
				}
			}
		}
	}
	return out
}

var common = []string{"regionCode", "us-west-2", "preInstalledSw", "NA", "operatingSystem", "Linux", "capacitystatus", "Used", "marketoption", "OnDemand"}

func TestPricesOfTheCatalogueComeBackThroughTheUsualFilters(t *testing.T) {
	c := serve(t)
	shared := prices(t, c, filters(append([]string{"tenancy", "Shared", "productFamily", "Compute Instance"}, common...)...))
	metal := prices(t, c, filters(append([]string{"tenancy", "Dedicated", "productFamily", "Compute Instance (bare metal)"}, common...)...))
	for _, x := range catalog.Types() {
		from := shared
		if x.BareMetal {
			from = metal
		}
		if want := float64(x.OnDemandMicroUSDPerHour) / 1e6; from[x.Name] != want {
			t.Errorf("%s: %v, want %v", x.Name, from[x.Name], want)
		}
	}
	if len(shared)+len(metal) != len(catalog.Types()) {
		t.Errorf("%d and %d prices, want %d", len(shared), len(metal), len(catalog.Types()))
	}
}

func TestBadFiltersFindOtherPrices(t *testing.T) {
	c := serve(t)
	of := func(pairs ...string) map[string]float64 {
		return prices(t, c, filters(append([]string{"instanceType", "m5.large"}, pairs...)...))
	}
	if got := of("operatingSystem", "Windows")["m5.large"]; got <= 0.096 {
		t.Errorf("Windows costs %v", got)
	}
	if got := of("operatingSystem", "Linux", "capacitystatus", "AllocatedCapacityReservation")["m5.large"]; got != 0 {
		t.Errorf("a reservation in use costs %v", got)
	}
	if got := of("regionCode", "eu-west-1"); len(got) != 0 {
		t.Errorf("another region has %v", got)
	}
	if got := of("operatingSystem", "Linux", "tenancy", "Shared", "capacitystatus", "Used", "serviceCode", "AmazonEC2"); len(got) != 1 {
		t.Errorf("an attribute whose letters are written otherwise finds %v", got)
	}
	if got := of("serviceCode", "AmazonRDS"); len(got) != 0 {
		t.Errorf("another value of it finds %v", got)
	}
	if got := of("colour", "red"); len(got) != 0 {
		t.Errorf("an unknown attribute finds %v", got)
	}
}

func TestGetProductsRefuses(t *testing.T) {
	c := serve(t)
	for name, in := range map[string]*sdk.GetProductsInput{
		"InvalidNextToken":  {ServiceCode: aws.String("AmazonEC2"), NextToken: aws.String("7")},
		"InvalidParameter":  {ServiceCode: aws.String("AmazonEC2"), MaxResults: aws.Int32(101)},
		"NotFoundException": {ServiceCode: aws.String("AmazonS3")},
	} {
		if _, err := c.GetProducts(t.Context(), in); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}
