package probes

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
)

func parameters() []proof.Probe {
	of := func(id, assumption, about string, rights []string, want proof.Seen, run func(context.Context, *proof.Env) (proof.Seen, error)) proof.Probe {
		return proof.Probe{ID: id, Service: "ssm", Assumption: assumption, About: about, Kind: proof.KindDryRuns, Lasts: time.Second, Rights: rights, Readings: one(assumption, want), Run: run}
	}
	read := []string{"ssm:GetParameter", "ssm:GetParametersByPath", "ssm:GetParameters"}
	made := of("ssm-versions", "a parameter may be asked for with a version behind a colon, and by its ARN", "PutParameter twice, GetParameter of each version and by ARN",
		append([]string{"ssm:PutParameter", "ssm:AddTagsToResource"}, read...), proof.Seen{"newest": "two", "first": "one", "third": "ParameterVersionNotFound", "by ARN": "two"}, versions)
	made.Kind = proof.KindSmall
	return []proof.Probe{
		of("ssm-missing-parameter", "a parameter that is not there is ParameterNotFound", "GetParameter of nothing", read, proof.Seen{"get": "ParameterNotFound"}, missingParameter),
		of("ssm-eks-images", "EKS images have image_id, image_name, release_version, schema_version, and one with all of them, under recommended", "GetParametersByPath of AL2023 for arm64",
			read, proof.Seen{"names": "image_id image_name release_version schema_version", "recommended": "JSON"}, eksImages),
		of("ssm-bottlerocket-images", "Bottlerocket has image_id and image_version under latest", "GetParameters", read, proof.Seen{"found": "2"}, bottlerocketImages),
		of("ssm-windows-images", "Windows images of EKS are under ami-windows-latest", "GetParameter", read, proof.Seen{"found": "ok"}, windowsImages),
		made,
	}
}

// eksMinor is a version of Kubernetes that has images.
const eksMinor = "1.34"

func missingParameter(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, err := e.SSM.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(proof.Path + "nothing")})
	return proof.Seen{"get": proof.Code(err)}, proof.Answered(err)
}

func eksImages(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	dir := "/aws/service/eks/optimized-ami/" + eksMinor + "/amazon-linux-2023/arm64/standard/recommended"
	names := []string{"image_id", "image_name", "release_version", "schema_version"}
	in := &ssm.GetParametersInput{}
	for _, name := range names {
		in.Names = append(in.Names, dir+"/"+name)
	}
	out, err := e.SSM.GetParameters(ctx, in)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, p := range out.Parameters {
		found[strings.TrimPrefix(aws.ToString(p.Name), dir+"/")] = true
	}
	seen := proof.Seen{"names": strings.Join(sorted(found), " ")}
	all, err := e.SSM.GetParameter(ctx, &ssm.GetParameterInput{Name: &dir})
	seen["recommended"] = proof.Code(err)
	if err == nil && strings.HasPrefix(strings.TrimSpace(aws.ToString(all.Parameter.Value)), "{") {
		seen["recommended"] = "JSON"
	}
	return seen, proof.Answered(err)
}

func bottlerocketImages(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	dir := "/aws/service/bottlerocket/aws-k8s-" + eksMinor + "/arm64/latest/"
	out, err := e.SSM.GetParameters(ctx, &ssm.GetParametersInput{Names: []string{dir + "image_id", dir + "image_version"}})
	if err != nil {
		return nil, err
	}
	return proof.Seen{"found": count(len(out.Parameters))}, nil
}

func windowsImages(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	_, err := e.SSM.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-" + eksMinor + "/image_id")})
	return proof.Seen{"found": proof.Code(err)}, proof.Answered(err)
}

func versions(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	name := proof.Path + e.Run + "/versions"
	if err := proof.PutParameter(ctx, e, name, "one", true); err != nil {
		return nil, err
	}
	if err := proof.PutParameter(ctx, e, name, "two", false); err != nil {
		return nil, err
	}
	seen := proof.Seen{}
	asked := map[string]string{"newest": name, "first": name + ":1", "third": name + ":3", "by ARN": e.ARN("ssm", "parameter"+name)}
	for _, fact := range sorted(asked) {
		out, err := e.SSM.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(asked[fact])})
		if err := proof.Answered(err); err != nil {
			return nil, err
		}
		if seen[fact] = proof.Code(err); err == nil {
			seen[fact] = aws.ToString(out.Parameter.Value)
		}
	}
	return seen, nil
}

func limits() []proof.Probe {
	concurrency := proof.Probe{
		ID: "lambda-concurrency", Service: "lambda", Assumption: "the account may run 1,000 functions at once, of which reservations leave 100", About: "GetAccountSettings",
		Kind: proof.KindDryRuns, Lasts: time.Second, Rights: []string{"lambda:GetAccountSettings"}, Run: concurrencyLimit,
		Readings: []proof.Reading{
			{Name: "full", Says: "as accounts that have been in use have: 65 executions can be reserved and 100 are left", Want: proof.Seen{"reservations fit": "yes"}},
			{Name: "small", Says: "a new account has less: the region's stack must not reserve any", Want: proof.Seen{"reservations fit": "no"}},
		},
	}
	metal := proof.Probe{
		ID: "pricing-bare-metal", Service: "pricing", Assumption: "bare metal is a product of the family Compute Instance (bare metal)", About: "GetProducts of m5.metal by family and type",
		Kind: proof.KindDryRuns, Lasts: time.Second, Rights: []string{"pricing:GetProducts"}, Run: bareMetal, Readings: one("and none of Compute Instance", proof.Seen{"bare metal": "some", "shared": "none"}),
	}
	absent := proof.Probe{
		ID: "pricing-absent-attribute", Service: "pricing", Assumption: "a filter on an attribute that a product lacks does not let it through", About: "GetProducts with such a filter",
		Kind: proof.KindDryRuns, Lasts: time.Second, Rights: []string{"pricing:GetProducts"}, Run: absentFilter, Readings: one("no product is found", proof.Seen{"products": "none"}),
	}
	quotas := proof.Probe{
		ID: "quotas-vcpu-codes", Service: "servicequotas", Assumption: "quotas of vCPUs have the codes L-1216C47A on demand and L-34B43A08 for spot", About: "GetServiceQuota of both",
		Kind: proof.KindDryRuns, Lasts: time.Second, Rights: []string{"servicequotas:GetServiceQuota"}, Run: quotaCodes,
		Readings: one("they name Standard instances", proof.Seen{"on demand": "Standard", "spot": "Standard"}),
	}
	return []proof.Probe{concurrency, metal, absent, quotas}
}

// reserved is what the region's stack reserves where it reserves all it can, and unreserved what Lambda wants left over.
const reserved, unreserved = 65, 100

func concurrencyLimit(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	out, err := e.Lambda.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		return nil, err
	}
	free := int(aws.ToInt32(out.AccountLimit.UnreservedConcurrentExecutions))
	return proof.Seen{"reservations fit": yes(free >= reserved+unreserved), "limit": count(int(out.AccountLimit.ConcurrentExecutions)), "unreserved": count(free)}, nil
}

// products says whether there are any of some attributes.
func products(ctx context.Context, e *proof.Env, pairs ...string) (string, error) {
	in := &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), MaxResults: aws.Int32(1)}
	for i := 0; i < len(pairs); i += 2 {
		in.Filters = append(in.Filters, types.Filter{Type: types.FilterTypeTermMatch, Field: &pairs[i], Value: &pairs[i+1]})
	}
	out, err := e.Pricing.GetProducts(ctx, in)
	if err != nil {
		return "", err
	}
	if len(out.PriceList) == 0 {
		return "none", nil
	}
	return "some", nil
}

func bareMetal(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	like := []string{"regionCode", "us-west-2", "instanceType", "m5.metal", "operatingSystem", "Linux", "preInstalledSw", "NA", "productFamily"}
	metal, err := products(ctx, e, append(like, "Compute Instance (bare metal)")...)
	if err != nil {
		return nil, err
	}
	shared, err := products(ctx, e, append(like, "Compute Instance")...)
	return proof.Seen{"bare metal": metal, "shared": shared}, err
}

func absentFilter(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	found, err := products(ctx, e, "regionCode", "us-west-2", "instanceType", "m5.large", "volumeApiName", "gp3")
	return proof.Seen{"products": found}, err
}

func quotaCodes(ctx context.Context, e *proof.Env) (proof.Seen, error) {
	seen := proof.Seen{}
	for _, q := range [][2]string{{"on demand", "L-1216C47A"}, {"spot", "L-34B43A08"}} {
		out, err := e.Quotas.GetServiceQuota(ctx, &servicequotas.GetServiceQuotaInput{ServiceCode: aws.String("ec2"), QuotaCode: &q[1]})
		if err := proof.Answered(err); err != nil {
			return nil, err
		}
		seen[q[0]] = proof.Code(err)
		if err == nil && strings.Contains(aws.ToString(out.Quota.QuotaName), "Standard") {
			seen[q[0]] = "Standard"
		}
	}
	return seen, nil
}
