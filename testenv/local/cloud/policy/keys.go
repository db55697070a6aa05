package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// keys are the condition keys requests of the modeled services may have, in lower case. One that ends in / is followed by the key
// of a tag. Sources: user guide, "AWS global condition context keys"; service authorization reference, of each service "Condition
// keys".
var keys = strings.Fields(`
	aws:calledvia aws:currenttime aws:epochtime aws:principalaccount aws:principalarn aws:principalisawsservice
	aws:principalservicename aws:principaltag/ aws:principaltype aws:requestedregion aws:requesttag/
	aws:resourceaccount aws:resourcetag/ aws:securetransport aws:sourceaccount aws:sourcearn aws:sourceip
	aws:tagkeys aws:useragent aws:userid aws:username aws:viaawsservice
	arc-zonal-shift:resourceidentifier
	dynamodb:enclosingoperation dynamodb:leadingkeys dynamodb:returnvalues dynamodb:select
	ec2:availabilityzone ec2:createaction ec2:ebsoptimized ec2:encrypted ec2:imageid ec2:imagetype ec2:instanceid
	ec2:instancemarkettype ec2:instancemetadatatags ec2:instanceprofile ec2:instancetype ec2:islaunchtemplateresource ec2:kmskeyid
	ec2:launchtemplate ec2:metadatahttpendpoint ec2:metadatahttpputresponsehoplimit ec2:metadatahttptokens ec2:owner ec2:public
	ec2:region ec2:resourcetag/ ec2:rootdevicetype ec2:securitygroupid ec2:subnet ec2:subnetid ec2:tenancy ec2:volumesize
	ec2:volumetype ec2:vpc
	events:detail-type events:source
	iam:passedtoservice iam:resourcetag/
	kms:calleraccount kms:encryptioncontext:aws:logs:arn kms:viaservice
	lambda:sourcefunctionarn
	s3:delimiter s3:max-keys s3:prefix s3:resourceaccount
	sts:externalid sts:rolesessionname sts:sourceidentity
`)

// multivalued are the keys among them whose requests may have several values.
var multivalued = strings.Fields(`aws:calledvia aws:tagkeys dynamodb:leadingkeys`)

// providerKey is what an OIDC provider says of a token: whom it is for and whose it is. Its name is the issuer's
// address, of EKS or of people's own clusters. Source: EKS user guide, "IAM roles for service accounts"; IAM user
// guide, "Available keys for AWS OIDC federation".
var providerKey = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[a-z0-9._~-]+)*:(aud|sub)$`)

// checkKey refuses a key no request is known to have: a condition on it would never be what its author meant.
func checkKey(key string) error {
	if providerKey.MatchString(key) {
		return nil
	}
	base, tag, tagged := strings.Cut(key, "/")
	if tagged {
		base += "/"
	}
	if !slices.Contains(keys, base) || tagged && tag == "" {
		return fmt.Errorf("the condition key %s is not known here", key)
	}
	return nil
}

// several reports whether requests may have several values of a key.
func several(key string) bool { return slices.Contains(multivalued, key) }
