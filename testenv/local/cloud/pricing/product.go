package pricing

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

// Parts of a product as the price list words them.
const (
	computeInstance  = "Compute Instance"
	bareMetal        = "Compute Instance (bare metal)"
	offerTerm        = "JRTCKXETXF" // on demand
	rateTerm         = "6YS6EN2CT7"
	serviceCode      = "AmazonEC2"
	publicationDate  = "2026-01-01T00:00:00Z"
	effectiveDate    = "2026-01-01T00:00:00Z"
	windowsPerVCPU   = 46_000 // µUSD per vCPU and hour on top of the Linux price
	dedicatedPercent = 106    // of the shared price
)

// product is one entry of the price list.
type product struct {
	sku        string
	family     string
	attributes map[string]string
	microUSD   int64
}

// document is the JSON of a product.
type document struct {
	Product         productView                     `json:"product"`
	ServiceCode     string                          `json:"serviceCode"`
	Terms           map[string]map[string]offerView `json:"terms"`
	Version         string                          `json:"version"`
	PublicationDate string                          `json:"publicationDate"`
}

type productView struct {
	ProductFamily string            `json:"productFamily"`
	Attributes    map[string]string `json:"attributes"`
	SKU           string            `json:"sku"`
}

type offerView struct {
	PriceDimensions map[string]dimensionView `json:"priceDimensions"`
	SKU             string                   `json:"sku"`
	EffectiveDate   string                   `json:"effectiveDate"`
	OfferTermCode   string                   `json:"offerTermCode"`
	TermAttributes  struct{}                 `json:"termAttributes"`
}

type dimensionView struct {
	Unit         string            `json:"unit"`
	EndRange     string            `json:"endRange"`
	Description  string            `json:"description"`
	AppliesTo    []string          `json:"appliesTo"`
	RateCode     string            `json:"rateCode"`
	BeginRange   string            `json:"beginRange"`
	PricePerUnit map[string]string `json:"pricePerUnit"`
}

func (p product) document() document {
	offer, rate := p.sku+"."+offerTerm, p.sku+"."+offerTerm+"."+rateTerm
	return document{
		Product:     productView{p.family, p.attributes, p.sku},
		ServiceCode: serviceCode, Version: "20260101000000", PublicationDate: publicationDate,
		Terms: map[string]map[string]offerView{"OnDemand": {offer: {
			SKU: p.sku, EffectiveDate: effectiveDate, OfferTermCode: offerTerm,
			PriceDimensions: map[string]dimensionView{rate: {
				Unit: "Hrs", BeginRange: "0", EndRange: "Inf", RateCode: rate, AppliesTo: []string{},
				Description: fmt.Sprintf("$%s per %s %s %s Instance Hour", usd(p.microUSD), p.attributes["tenancy"],
					p.attributes["operatingSystem"], p.attributes["instanceType"]),
				PricePerUnit: map[string]string{"USD": usd(p.microUSD)},
			}},
		}}},
	}
}

// usd writes micro-dollars as the price list does: ten decimals.
func usd(micro int64) string { return fmt.Sprintf("%d.%06d0000", micro/1e6, micro%1e6) }

// products returns the products of a type. The first is its Linux price.
func products(t catalog.Type) []product {
	price := t.OnDemandMicroUSDPerHour
	if t.BareMetal {
		return []product{newProduct(t, bareMetal, "Linux", "Dedicated", "Used", price)}
	}
	windows := price + int64(t.VCPUs)*windowsPerVCPU
	out := []product{
		newProduct(t, computeInstance, "Linux", "Shared", "Used", price),
		newProduct(t, computeInstance, "Linux", "Shared", "AllocatedCapacityReservation", 0),
		newProduct(t, computeInstance, "Linux", "Dedicated", "Used", price*dedicatedPercent/100),
	}
	if t.Architecture == catalog.X86_64 {
		out = append(out, newProduct(t, computeInstance, "Windows", "Shared", "Used", windows))
	}
	return out
}

func newProduct(t catalog.Type, family, system, tenancy, status string, microUSD int64) product {
	sum := sha256.Sum256([]byte(strings.Join([]string{t.Name, family, system, tenancy, status}, "/")))
	p := product{sku: base32.StdEncoding.EncodeToString(sum[:])[:16], family: family, microUSD: microUSD}
	p.attributes = map[string]string{
		"servicecode": serviceCode, "servicename": "Amazon Elastic Compute Cloud",
		"location": "US West (Oregon)", "locationType": "AWS Region", "regionCode": catalog.Region, "availabilityzone": "NA",
		"instanceType": t.Name, "instanceFamily": instanceFamily(t), "currentGeneration": yes(!t.PreviousGeneration),
		"vcpu": strconv.Itoa(t.VCPUs), "memory": memory(t.MemoryMiB), "storage": storage(t.Disks),
		"clockSpeed":      strconv.FormatFloat(t.ClockGHz, 'g', -1, 64) + " GHz",
		"operatingSystem": system, "preInstalledSw": "NA", "licenseModel": "No License required",
		"tenancy": tenancy, "capacitystatus": status, "marketoption": "OnDemand",
		"operation": "RunInstances", "usagetype": usageType(t.Name, tenancy, status),
	}
	if system == "Windows" {
		p.attributes["operation"] = "RunInstances:0002"
	}
	if t.GPU != nil {
		p.attributes["gpu"] = strconv.Itoa(t.GPU.Count)
	}
	return p
}

func usageType(name, tenancy, status string) string {
	kind := "BoxUsage"
	switch {
	case status != "Used":
		kind = "Reservation"
	case tenancy == "Dedicated":
		kind = "DedicatedUsage"
	}
	return "USW2-" + kind + ":" + name
}

func instanceFamily(t catalog.Type) string {
	switch {
	case t.GPU != nil:
		return "GPU instance"
	case t.Neuron != nil:
		return "Machine Learning ASIC Instances"
	}
	switch t.Family[0] {
	case 'c':
		return "Compute optimized"
	case 'r', 'x', 'z':
		return "Memory optimized"
	case 'i', 'd':
		return "Storage optimized"
	}
	return "General purpose"
}

func yes(b bool) string {
	if b {
		return "Yes"
	}
	return "No"
}

func memory(mib int64) string {
	return strconv.FormatFloat(float64(mib)/1024, 'g', -1, 64) + " GiB"
}

func storage(d catalog.Disks) string {
	switch {
	case d.Count == 0:
		return "EBS only"
	case d.Kind == "hdd":
		return fmt.Sprintf("%d x %d HDD", d.Count, d.SizeGB)
	}
	return fmt.Sprintf("%d x %d NVMe SSD", d.Count, d.SizeGB)
}
