package servicequotas_test

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/servicequotas"
)

func TestQuotasAreListedInPagesAndReadOneByOne(t *testing.T) {
	m := servicequotas.New()
	server := httptest.NewServer(servicequotas.NewHandler(m))
	t.Cleanup(server.Close)
	client := sdk.New(sdk.Options{Region: "us-west-2", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
	m.Set("L-1216C47A", 5)
	seen, pages := map[string]float64{}, sdk.NewListServiceQuotasPaginator(client, &sdk.ListServiceQuotasInput{ServiceCode: aws.String("ec2"), MaxResults: aws.Int32(4)})
	for n := 0; pages.HasMorePages(); n++ {
		page, err := pages.NextPage(t.Context())
		if err != nil || len(page.Quotas) > 4 || n > 2 {
			t.Fatalf("page %d: %v %+v", n, err, page)
		}
		for _, q := range page.Quotas {
			if _, twice := seen[aws.ToString(q.QuotaCode)]; twice || aws.ToString(q.QuotaName) == "" {
				t.Errorf("%+v", q)
			}
			seen[aws.ToString(q.QuotaCode)] = aws.ToFloat64(q.Value)
		}
	}
	if len(seen) != 6 || seen["L-1216C47A"] != 5 || seen["L-34B43A08"] != 1152 {
		t.Errorf("%v", seen)
	}
	one, err := client.GetServiceQuota(t.Context(), &sdk.GetServiceQuotaInput{ServiceCode: aws.String("ec2"), QuotaCode: aws.String("L-1216C47A")})
	if err != nil || aws.ToFloat64(one.Quota.Value) != 5 {
		t.Errorf("%v %+v", err, one)
	}
	var none *types.NoSuchResourceException
	if _, err = client.GetServiceQuota(t.Context(), &sdk.GetServiceQuotaInput{ServiceCode: aws.String("ec2"), QuotaCode: aws.String("L-0")}); !errors.As(err, &none) {
		t.Errorf("%v", err)
	}
	if _, err = client.ListServiceQuotas(t.Context(), &sdk.ListServiceQuotasInput{ServiceCode: aws.String("eks")}); !errors.As(err, &none) {
		t.Errorf("%v", err)
	}
}
