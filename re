 runtail │ prod-us · prod-eu │ DEMO simulated servers                                                        us ●  eu ●
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
 DEPLOYMENTS  13   ✗ 2   ◐ 4
   NAME▾                          PROFILE REGION STATE      NEWEST REVISION        LIVE   TYPE     SOURCE           AGE
 ▌ contract-review                prod-eu eu     ● ready    ● DEPLOYED         20h newest prod     github           17d
   invoice-agent                  prod-us us     ● ready    ✗ BUILD_FAILED      1h older  prod     github           14d
   kyc-checker                    prod-eu eu     ● ready    ■ INTERRUPTED       9h older  dev_zero internal_source   6d
   legacy-faq                     prod-eu eu     ◐ deleting ● DEPLOYED         80d newest dev      github           85d
   nightly-etl                    prod-us us     ■ unused   ● DEPLOYED         31d newest dev      github           39d
   onboarding-flow                prod-us us     ◌ waiting  ◌ CREATING          2s -      dev      github            2s
   pr-482-support-bot             prod-us us     ● ready    ✗ DEPLOY_FAILED     3h older  dev      github            3d
   research-desk                  prod-us us     ● ready    ● DEPLOYED          3d newest -        external_docker   6d
   support-bot                    prod-us us     ● ready    ◌ CREATING          0s older  prod     github           15d
   support-bot                    prod-eu eu     ● ready    ● DEPLOYED          5h newest prod     github            9d
   translation-hub                prod-eu eu     ● ready    ◌ CREATING          0s older  prod     github            7d
   triage                         prod-us us     ● ready    ● DEPLOYED          2d newest prod     github            7d
   vendor-intake                  prod-eu eu     ◌ waiting  ◌ CREATING          3m -      prod     github            3m


 REVISIONS of eu › contract-review                                                                              settled
 ▌ ● DEPLOYED       v2.4.0@b095e59                                                     serving  20h
   ● DEPLOYED       v2.4.0@b71ab5a                                                  superseded   2d
   ● DEPLOYED       v2.4.0@f6b82a2                                                  superseded   4d
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
 ▌ deployments             Go to the list of deployments
   revisions               Go to the revisions of the selected deployment
   create                  Create a deployment
   update                  Change the selected deployment
   delete                  Delete the selected deployment
   redeploy                Deploy the selected revision again
   interrupt               Stop the selected revision on its way
   rollback                Go back to the selected revision
   journal                 What was sent to change something, and what came of it
   logs                    The server log of the selected deployment
────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
 :▏                                                                                     ⏎ run  Tab complete  Esc cancel
