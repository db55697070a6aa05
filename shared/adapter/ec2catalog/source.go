package ec2catalog

import (
	"cmp"
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

// Settings are the region and how long what was read is good. Zero durations mean the defaults.
type Settings struct {
	Region       string
	Isolated     bool          // there is no way to the price list and to IAM, which have no endpoints within a network
	TypesEvery   time.Duration // instance types and where they are offered
	PricesEvery  time.Duration // on-demand prices
	SpotEvery    time.Duration // spot prices
	ImagesEvery  time.Duration // parameters that name images
	ResolveEvery time.Duration // what a class resolved to without a problem
	RetryAfter   time.Duration // after a failed refresh
	Now          func() time.Time
}

// withDefaults returns the settings with what stands for zero values.
func (s Settings) withDefaults() Settings {
	s.TypesEvery = cmp.Or(s.TypesEvery, 12*time.Hour)
	s.PricesEvery = cmp.Or(s.PricesEvery, 12*time.Hour)
	s.SpotEvery = cmp.Or(s.SpotEvery, 10*time.Minute)
	s.ImagesEvery = cmp.Or(s.ImagesEvery, 30*time.Minute)
	s.ResolveEvery = cmp.Or(s.ResolveEvery, time.Minute)
	s.RetryAfter = cmp.Or(s.RetryAfter, time.Minute)
	if s.Now == nil {
		s.Now = time.Now
	}
	return s
}

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
