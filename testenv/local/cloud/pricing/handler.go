package pricing

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Options say what is priced. The zero value prices the whole catalog.
type Options struct {
	Types []catalog.Type // nil means catalog.Types()
}

// Model is a price list. It never changes and is safe for concurrent use.
type Model struct {
	products []product // in the order they are listed
}

// New returns the price list of the types of o.
func New(o Options) *Model {
	types := o.Types
	if types == nil {
		types = catalog.Types()
	}
	m := &Model{}
	for _, t := range types {
		m.products = append(m.products, products(t)...)
	}
	return m
}

// NewHandler serves m on the wire protocol of the Price List service.
func NewHandler(m *Model) http.Handler {
	return wire.JSON{Version: "1.1", TargetPrefix: "AWSPriceListService", Actions: map[string]wire.JSONAction{
		"GetProducts": wire.JSONFunc(m.getProducts),
	}}
}

const maxPage = 100

type getProductsInput struct {
	ServiceCode   string
	Filters       []productFilter
	FormatVersion string
	MaxResults    *int
	NextToken     string
}

type productFilter struct {
	Type, Field, Value string
}

type getProductsOutput struct {
	FormatVersion string
	NextToken     string `json:",omitempty"`
	PriceList     []string
}

func (m *Model) getProducts(_ context.Context, in *getProductsInput) (*getProductsOutput, error) {
	size := maxPage
	if in.MaxResults != nil {
		size = *in.MaxResults
	}
	switch {
	case in.ServiceCode != serviceCode:
		return nil, wire.Errorf("NotFoundException", "Service code %s is not modelled", in.ServiceCode)
	case size < 1 || size > maxPage:
		return nil, wire.Errorf("InvalidParameterException", "MaxResults must be between 1 and %d", maxPage)
	}
	keep, err := compile(in.Filters)
	if err != nil {
		return nil, err
	}
	start := 0
	if in.NextToken != "" {
		if start, err = m.position(in.NextToken); err != nil {
			return nil, err
		}
	}
	out := &getProductsOutput{FormatVersion: "aws_v1", PriceList: []string{}}
	for i := start; i < len(m.products); i++ {
		if !keep(m.products[i]) {
			continue
		}
		if len(out.PriceList) == size {
			out.NextToken = fmt.Sprintf("%d:%s", i, m.products[i].sku)
			break
		}
		doc, err := json.Marshal(m.products[i].document())
		if err != nil {
			return nil, err
		}
		out.PriceList = append(out.PriceList, string(doc))
	}
	return out, nil
}

// position reads a token: the place of the next product and its SKU.
func (m *Model) position(token string) (int, error) {
	place, sku, _ := strings.Cut(token, ":")
	n, err := strconv.Atoi(place)
	if err != nil || n < 0 || n >= len(m.products) || m.products[n].sku != sku {
		return 0, wire.Errorf("InvalidNextTokenException", "The pagination token is invalid. Try again without a pagination token.")
	}
	return n, nil
}

// compile returns what tells whether a product passes every filter. A product
// that lacks the field does not pass.
func compile(filters []productFilter) (func(product) bool, error) {
	for _, f := range filters {
		if !slices.Contains([]string{"TERM_MATCH", "EQUALS", "CONTAINS", "ANY_OF", "NONE_OF"}, f.Type) {
			return nil, wire.Errorf("InvalidParameterException", "Filter type %s is not valid", f.Type)
		}
		if f.Field == "" {
			return nil, wire.Errorf("InvalidParameterException", "Filter field must not be empty")
		}
	}
	return func(p product) bool {
		return !slices.ContainsFunc(filters, func(f productFilter) bool { return !f.passes(p) })
	}, nil
}

func (f productFilter) passes(p product) bool {
	var value string
	var has bool
	switch f.Field {
	case "productFamily":
		value, has = p.family, true
	case "sku":
		value, has = p.sku, true
	default:
		value, has = p.attribute(f.Field)
	}
	switch f.Type {
	case "CONTAINS":
		return has && strings.Contains(value, f.Value)
	case "ANY_OF":
		return has && slices.Contains(strings.Split(f.Value, ","), value)
	case "NONE_OF":
		return has && !slices.Contains(strings.Split(f.Value, ","), value)
	}
	return has && value == f.Value
}

// attribute returns an attribute by its name, however its letters are written: the service's own example asks for ServiceCode, others
// for serviceCode, and products have servicecode. Source: API reference, GetProducts.
func (p product) attribute(name string) (value string, has bool) {
	if value, has = p.attributes[name]; has {
		return value, true
	}
	for key, value := range p.attributes {
		if strings.EqualFold(key, name) {
			return value, true
		}
	}
	return "", false
}
