package policy

import (
	"fmt"
	"slices"
	"strings"
)

// keys are the condition keys requests of the modelled services may have, in lower case. One that ends in / is followed by the key
// of a tag. Sources: user guide, "AWS global condition context keys"; service authorization reference, of each service "Condition
// keys".
var keys = strings.Fields(`
	aws:calledvia aws:currenttime aws:epochtime aws:principalaccount aws:principalarn aws:principalisawsservice
	aws:principalorgid aws:principalservicename aws:principaltag/ aws:principaltype aws:requestedregion aws:requesttag/
	aws:resourceaccount aws:resourceorgid aws:resourcetag/ aws:securetransport aws:sourceaccount aws:sourcearn aws:sourceip
	aws:sourceorgid aws:sourcevpc aws:sourcevpce aws:tagkeys aws:useragent aws:userid aws:username aws:viaawsservice aws:vpcsourceip
	dynamodb:attributes dynamodb:enclosingoperation dynamodb:leadingkeys dynamodb:returnvalues dynamodb:select
	ec2:associatepublicipaddress ec2:availabilityzone ec2:availabilityzoneid ec2:createaction ec2:ebsoptimized ec2:encrypted
	ec2:imageid ec2:imagetype ec2:instanceid ec2:instancemarkettype ec2:instancemetadatatags ec2:instanceprofile ec2:instancetype
	ec2:islaunchtemplateresource ec2:kmskeyid ec2:launchtemplate ec2:metadatahttpendpoint ec2:metadatahttpputresponsehoplimit
	ec2:metadatahttptokens ec2:owner ec2:placementgroup ec2:public ec2:region ec2:resourcetag/ ec2:rootdevicetype
	ec2:securitygroupid ec2:subnet ec2:subnetid ec2:tenancy ec2:volumesize ec2:volumetype ec2:vpc
	eks:accessentrytype eks:clustername eks:principalarn
	events:source events:detail-type
	iam:associatedresourcearn iam:passedtoservice iam:permissionsboundary iam:policyarn iam:resourcetag/
	kms:calleraccount kms:encryptioncontext/ kms:grantisforawsresource kms:viaservice
	lambda:functionarn lambda:functionurlauthtype lambda:principal lambda:sourcefunctionarn
	s3:delimiter s3:max-keys s3:prefix s3:resourceaccount s3:tlsversion s3:x-amz-acl s3:x-amz-server-side-encryption
	s3:x-amz-server-side-encryption-aws-kms-key-id
	sts:externalid sts:rolesessionname sts:sourceidentity sts:transitivetagkeys
`)

// multivalued are the keys among them whose requests may have several values.
var multivalued = strings.Fields(`
	aws:calledvia aws:tagkeys dynamodb:attributes dynamodb:leadingkeys ec2:placementgroup
	sts:transitivetagkeys
`)

// checkKey refuses a key no request is known to have: a condition on it would never be what its author meant.
func checkKey(key string) error {
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
