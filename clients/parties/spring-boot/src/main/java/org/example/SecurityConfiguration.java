package org.example;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.annotation.Order;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.GrantedAuthority;
import org.springframework.security.core.authority.SimpleGrantedAuthority;
import org.springframework.security.core.authority.mapping.GrantedAuthoritiesMapper;
import org.springframework.security.oauth2.client.oidc.web.logout.OidcClientInitiatedLogoutSuccessHandler;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.core.oidc.user.OidcUserAuthority;
import org.springframework.security.web.SecurityFilterChain;

@Configuration
class SecurityConfiguration {
    /** The API: bearers of access tokens. */
    @Bean
    @Order(1)
    SecurityFilterChain apiChain(HttpSecurity http) throws Exception {
        return http.securityMatcher("/api/**")
            .authorizeHttpRequests(requests -> requests
                .requestMatchers("/api/edit").hasRole("editor")
                .anyRequest().authenticated())
            .oauth2ResourceServer(server -> server.jwt(Customizer.withDefaults()))
            .build();
    }

    /** The pages: people who sign in. */
    @Bean
    @Order(2)
    SecurityFilterChain pagesChain(HttpSecurity http, ClientRegistrationRepository clients) throws Exception {
        var logout = new OidcClientInitiatedLogoutSuccessHandler(clients);
        logout.setPostLogoutRedirectUri("{baseUrl}/");
        return http
            .authorizeHttpRequests(requests -> requests
                .requestMatchers("/staff").hasAuthority("GROUP_staff")
                .anyRequest().authenticated())
            .oauth2Login(Customizer.withDefaults())
            .logout(own -> own.logoutSuccessHandler(logout))
            .oidcLogout(theirs -> theirs.backChannel(Customizer.withDefaults()))
            .build();
    }

    /** An authority for each group in the ID token. */
    @Bean
    GrantedAuthoritiesMapper groups() {
        return authorities -> {
            Collection<GrantedAuthority> found = new ArrayList<>(authorities);
            for (GrantedAuthority authority : authorities) {
                if (authority instanceof OidcUserAuthority user) {
                    List<String> groups = user.getIdToken().getClaimAsStringList("groups");
                    if (groups != null) {
                        groups.forEach(group -> found.add(new SimpleGrantedAuthority("GROUP_" + group)));
                    }
                }
            }
            return found;
        };
    }
}
