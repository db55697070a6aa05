package ec2catalog

import (
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// source is where the parts of a catalog read.
type source struct {
	clients  Clients
	settings Settings
}

// Clients are the services read from. Pricing's region is one of the few that have the API, see PricingRegion.
type Clients struct {
	EC2     *ec2.Client
	IAM     *iam.Client
	Pricing *pricing.Client
	SSM     *ssm.Client
}

// Settings are the region and how it is read.
type Settings struct {
	Region   string
	Isolated bool             // there is no way to the price list and to IAM, which have no endpoints within a network
	Now      func() time.Time // nil = time.Now
}

// How long what was read is good.
const (
	typesEvery   = 12 * time.Hour   // instance types and where they are offered
	pricesEvery  = 12 * time.Hour   // on-demand prices
	spotEvery    = 10 * time.Minute // spot prices
	imagesEvery  = 30 * time.Minute // parameters that name images
	resolveEvery = time.Minute      // what a class resolved to without a problem
	retryAfter   = time.Minute      // after a failed refresh
)

// tagFilters matches every tag; the value * asks only that the key exists.
func tagFilters(tags map[string]string) []types.Filter {
	var filters []types.Filter
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if tags[key] == "*" {
			filters = append(filters, types.Filter{Name: aws.String("tag-key"), Values: []string{key}})
			continue
		}
		filters = append(filters, types.Filter{Name: aws.String("tag:" + key), Values: []string{tags[key]}})
	}
	return filters
}
