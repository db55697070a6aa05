package main

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
)

// errAddress is an address that no answer is sent to. It does not show the address, by which anybody could answer.
var errAddress = errors.New("answer CloudFormation: the response URL is not one of CloudFormation's in the stack's region " +
	"(https://cloudformation-custom-resource-response-REGION.s3.REGION.amazonaws.com/…); nothing was sent")

// newAnswers is the client for answers. It follows no redirect: CloudFormation's addresses have none.
func newAnswers() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// mayAnswer reports whether an answer about the stack may be sent to the address: only to the bucket where CloudFormation waits
// for it in the stack's region and partition. endpoint is that of AWS where it is a model of it on this machine ("" = AWS itself):
// then CloudFormation is a model at the same address, too.
// Source: CloudFormation user guide, "Custom resource request objects" and "Setting up VPC endpoints": the bucket is
// cloudformation-custom-resource-response-REGION, the region without dashes. Amazon S3 user guide, "Virtual hosting of
// buckets": s3.REGION, the older s3-REGION, and s3 alone for us-east-1.
func mayAnswer(address, stackID, endpoint string) bool {
	stack, err := arn.Parse(stackID)
	if err != nil || stack.Region == "" {
		return false
	}
	to, err := url.Parse(address)
	if err != nil || to.User != nil || to.Opaque != "" {
		return false
	}
	if host := loopback(endpoint); host != "" {
		return to.Scheme == "http" && to.Hostname() == host
	}
	suffix, known := suffixes[stack.Partition]
	if !known || to.Scheme != "https" {
		return false
	}
	place, ok := strings.CutPrefix(to.Host, "cloudformation-custom-resource-response-"+strings.ReplaceAll(stack.Region, "-", "")+".") // Host: with its port
	if !ok {
		return false
	}
	return place == "s3."+stack.Region+suffix || place == "s3-"+stack.Region+suffix || stack.Region == "us-east-1" && place == "s3"+suffix
}

// suffixes are the ends of names of S3 by partition. Source: AWS SDK for Go v2, internal/endpoints/awsrulesfn/partitions.json.
var suffixes = map[string]string{
	"aws": ".amazonaws.com", "aws-us-gov": ".amazonaws.com", "aws-cn": ".amazonaws.com.cn", "aws-eusc": ".amazonaws.eu",
	"aws-iso": ".c2s.ic.gov", "aws-iso-b": ".sc2s.sgov.gov", "aws-iso-e": ".cloud.adc-e.uk", "aws-iso-f": ".csp.hci.ic.gov",
}

// loopback returns the host of a URL that is of this machine, by address; "" for any other. A function of Lambda that calls AWS there reaches
// nothing.
func loopback(address string) string {
	at, err := url.Parse(address)
	if err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(at.Hostname()); err != nil || !ip.IsLoopback() {
		return ""
	}
	return at.Hostname()
}
